// No byte of a file reaches a terminal as a command to it, and none hides from a reader.
#include "cli/terminal_text.hpp"

#include "tests/support/catch.hpp"

namespace warder::test {
namespace {

TEST_CASE("letters of any script pass, controls do not") {
  CHECK(printable("résumé 履歴書.txt") == "résumé 履歴書.txt");
  CHECK(printable("a\nb\tc\\d") == "a\\nb\\x09c\\\\d");
  CHECK(printable_line("a\tb\\c") == "a\tb\\c");
}

TEST_CASE("attack: escape sequences, C1 controls, turned and invisible text, broken UTF-8") {
  CHECK(printable("\x1b]0;x\x07") == "\\x1b]0;x\\x07");
  CHECK(printable_line("\x1b[2Jx\r") == "\\x1b[2Jx\\x0d");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\u{9b}31m");
  CHECK(printable("a\xe2\x80\xae"
                  "b") == "a\\u{202e}b");
  CHECK(printable("a\xe2\x80\x8b"
                  "b") == "a\\u{200b}b");
  CHECK(printable("\xff\xc0\xaf") == "\\xff\\xc0\\xaf");
  CHECK(printable("\xc3") == "\\xc3");
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");
}

}  // namespace
}  // namespace warder::test
