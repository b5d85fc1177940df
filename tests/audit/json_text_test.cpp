#include "audit/json_text.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>

#include "tests/support/catch.hpp"

using namespace warder::audit;

namespace {

std::string escaped(std::string_view text, std::size_t limit = 1 << 20) {
  std::string out;
  append_escaped(out, text, limit);
  return out;
}

std::string read_back(const std::string& inside) {
  return std::string(boost::json::parse("\"" + inside + "\"").as_string());
}

}  // namespace

TEST_CASE("BR-133 text comes back as it was, when it was text") {
  for (const std::string& text :
       {std::string("plain"), std::string("q\"b\\s/"), std::string("GE\tT\r\n"),
        std::string("nul\0mid", 7), std::string("ünïcödé 漢字 🙂"), std::string("\x7f\x1b[31m")}) {
    CHECK(read_back(escaped(text)) == text);
  }
}

TEST_CASE("BR-133 every single byte, and every pair, makes a valid string without control bytes") {
  std::string text(2, '\0');
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      text[0] = static_cast<char>(a);
      text[1] = static_cast<char>(b);
      const std::string out = escaped(text);
      boost::system::error_code error;
      boost::json::parse("\"" + out + "\"", error);
      if (error) FAIL("not a JSON string: bytes " << a << " " << b);
      for (const char c : out) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) FAIL("control byte from " << a);
      }
    }
  }
}

TEST_CASE("BR-133 what is not UTF-8 becomes the replacement character, byte by byte") {
  CHECK(escaped("a\xff\xfe"
                "b") == "a\uFFFD\uFFFDb");
  CHECK(escaped("\xC0\xAF") == "\uFFFD\uFFFD");                      // overlong '/'
  CHECK(escaped("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");            // a lone surrogate
  CHECK(escaped("\xF4\x90\x80\x80") == "\uFFFD\uFFFD\uFFFD\uFFFD");  // past U+10FFFF
  CHECK(escaped("\xE2\x82") == "\uFFFD\uFFFD");                      // cut off
}

TEST_CASE("BR-133 line separators, C1 controls and direction marks are escaped") {
  CHECK(escaped("\u2028\u2029") == "\\u2028\\u2029");
  CHECK(escaped("\u009b31m") == "\\u009b31m");
  CHECK(escaped("\u202e\u2066\ufeff") == "\\u202e\\u2066\\ufeff");
  CHECK(printable("\x1b]0;title\x07") == "\\u001b]0;title\\u0007");
}

TEST_CASE("long text is cut at a character, never past the limit, and says by how much") {
  const std::string text(64 * 1024, 'x');
  const std::string out = escaped(text, 100);
  CHECK(out.size() <= 100);
  CHECK(out.ends_with("…[+65468]"));
  CHECK(escaped(std::string(100, 'x'), 100) == std::string(100, 'x'));
  for (std::size_t limit = 40; limit < 80; ++limit) {
    for (const std::string unit : {"x", "ü", "🙂", "\x01", "\xff", "\""}) {
      std::string many;
      for (int i = 0; i < 90; ++i) many += unit;
      const std::string cut = escaped(many, limit);
      CHECK(cut.size() <= limit);
      CHECK(cut.find("…[+") != std::string::npos);
      CHECK_NOTHROW(read_back(cut));
    }
  }
}

TEST_CASE("lists keep to their budget and count what they left out") {
  std::string out = "{";
  Members(out).texts("a", {"one", "two"}, 64, 100);
  CHECK(out == R"({"a":["one","two"])");
  const std::vector<std::string> many(1000, "0123456789");
  out = "{";
  Members(out).texts("a", many, 64, 200).texts("b", {}, 64, 200);
  CHECK(out.size() <= 210 + 8);
  CHECK(out.find(R"("…[+989]"],"b":[])") != std::string::npos);
  out = "{";
  Members(out).objects("a", many, 200, [](Members& members, const std::string& value) {
    members.text("name", value, 64);
  });
  out += "}";
  const auto parsed = boost::json::parse(out).as_object();
  const auto& items = parsed.at("a").as_array();
  CHECK(out.size() <= 210);
  CHECK(items.back().at("name").as_string().starts_with("…[+"));
}
