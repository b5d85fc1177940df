#include "http/chunked.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using Event = ChunkedDecoder::Event;

namespace {

// The data, then what came: "last [what is left]", "error" or "need_more".
std::string decode(const std::vector<std::string_view>& pieces) {
  ChunkedDecoder decoder;
  std::string out;
  std::string rest;
  Event event = Event::need_more;
  for (std::string_view in : pieces) {
    while (event != Event::last) {
      event = decoder.next(in);
      if (event == Event::error) return out + "|error";
      if (event != Event::data) break;
      REQUIRE_FALSE(decoder.data().empty());
      out += decoder.data();
    }
    if (event == Event::last) rest += in;
  }
  return out + (event == Event::last ? "|last [" + rest + ']' : "|need_more");
}

void check_decodes(std::string_view coded, std::string_view expected) {
  CAPTURE(coded);
  test::at_every_split(coded, [&](const auto& pieces) { REQUIRE(decode(pieces) == expected); });
}

}  // namespace

TEST_CASE("chunks are joined and the end is told") {
  check_decodes("5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", "hello!|last [\r\n]");
  check_decodes("a\r\n0123456789\r\nA\r\n0123456789\r\n000\r\nX: 1\r\n\r\n",
                "01234567890123456789|last [X: 1\r\n\r\n]");
  check_decodes("0\r\n", "|last []");
  check_decodes("0000000000000005\r\nhello\r\n0\r\n", "hello|last []");
  check_decodes("5\r\n\r\n0\r\n\r\n0\r\n", "\r\n0\r\n|last []");
}

TEST_CASE("extensions are passed over, quoted strings with what they may hold") {
  check_decodes("5;a\r\nhello\r\n0;z=1\r\n", "hello|last []");
  check_decodes("5;a=b;c=\"d;\\\"e \xe9\" ; f\r\nhello\r\n0\r\n", "hello|last []");
  check_decodes("5;\r\nhello\r\n0\r\n", "hello|last []");
}

TEST_CASE("a body that is not over needs more") {
  for (const std::string_view coded : {"", "5", "5\r", "5\r\n", "5;x", "5;x=\"", "0", "0\r"}) {
    check_decodes(coded, "|need_more");
  }
  check_decodes("5\r\nhel", "hel|need_more");
  check_decodes("5\r\nhello\r\n", "hello|need_more");
}

TEST_CASE("BR-008 sizes that overflow or are no sizes are refused") {
  for (const std::string_view size : {"10000000000000000", "FFFFFFFFFFFFFFFF", "8000000000000000",
                                      "00000000000000005", "-1", "+5", "0x5", "5h", "g", " 5", "5 ",
                                      "5\t", "\t5", "", ";a", "5,5", "5\x0b", "5.0", "\"5\""}) {
    check_decodes(std::string(size) + "\r\nhello\r\n0\r\n\r\n", "|error");
  }
  check_decodes("7fffffffffffffff\r\nhello", "hello|need_more");
}

TEST_CASE("BR-008 line ends are CR LF, everywhere") {
  check_decodes("5\nhello\r\n0\r\n\r\n", "|error");
  check_decodes("5\rhello\r\n0\r\n\r\n", "|error");
  check_decodes("5;a\nhello\r\n0\r\n\r\n", "|error");
  check_decodes("5\r\r\nhello\r\n0\r\n\r\n", "|error");
  check_decodes("5\r\nhello\n0\r\n\r\n", "hello|error");
  check_decodes("5\r\nhello\r0\r\n\r\n", "hello|error");
  check_decodes("5\r\nhello0\r\n\r\n", "hello|error");
  check_decodes("5\r\nhello\r\n0\n\r\n", "hello|error");
  check_decodes("5\r\nhello\r\n\r\n0\r\n\r\n", "hello|error");
}

TEST_CASE("BR-008 more data than the size says is refused") {
  check_decodes("5\r\nhello!\r\n0\r\n\r\n", "hello|error");
  check_decodes("3\r\nhello\r\n0\r\n\r\n", "hel|error");
}

TEST_CASE("BR-008 a line end inside a quoted extension is refused") {
  check_decodes("5;ext=\"a\r\nb\"\r\nhello\r\n0\r\n\r\n", "|error");
  check_decodes("5;ext=\"a\\\r\nb\"\r\nhello\r\n0\r\n\r\n", "|error");
  check_decodes("5;ext=\"a\nb\"\r\nhello\r\n0\r\n\r\n", "|error");
}

TEST_CASE("an extension ends somewhere") {
  const std::string fits(ChunkedDecoder::kMaxLine - 3, 'x');
  CHECK(decode({"5;" + fits + "\r\nhello\r\n0\r\n"}) == "hello|last []");
  CHECK(decode({"5;" + fits + "x\r\nhello\r\n0\r\n"}) == "|error");
  // The bound is per line: it does not add up over chunks.
  std::string many;
  for (int i = 0; i < 100; ++i) many += "1;" + std::string(100, 'x') + "\r\na\r\n";
  CHECK(decode({many + "0\r\n"}) == std::string(100, 'a') + "|last []");
}

TEST_CASE("data is a view into the input, not a copy") {
  const std::string coded = "5\r\nhello\r\n";
  ChunkedDecoder decoder;
  std::string_view in = coded;
  REQUIRE(decoder.next(in) == Event::data);
  CHECK(decoder.data().data() == coded.data() + 3);
  CHECK(decoder.data().size() == 5);
}
