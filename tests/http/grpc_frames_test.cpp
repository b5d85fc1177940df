#include "http/grpc_frames.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using namespace std::string_literals;

namespace {

// "[flags length]payload." for each message; what is left open has no ".".
std::string parse(const std::vector<std::string_view>& pieces) {
  GrpcParser parser;
  std::string seen;
  for (std::string_view in : pieces) {
    for (bool more = true; more;) {
      switch (parser.next(in)) {
        case GrpcParser::Event::need_more: more = false; break;
        case GrpcParser::Event::malformed: return seen + "malformed";
        case GrpcParser::Event::end: seen += '.'; break;
        case GrpcParser::Event::payload: seen += parser.payload(); break;
        case GrpcParser::Event::prefix:
          seen += '[' + std::to_string(parser.prefix().flags) + ' ' +
                  std::to_string(parser.prefix().length) + ']';
          break;
      }
    }
    REQUIRE(in.empty());
  }
  return seen + (parser.is_between() ? "" : "…");
}

void check_parses(std::string_view body, const std::string& expected) {
  test::at_every_split(body, [&](const auto& pieces) { REQUIRE(parse(pieces) == expected); });
}

bool grpc(const std::string& type) {
  HeaderList fields;
  fields.add("Content-Type", type);
  return is_grpc(fields);
}

}  // namespace

TEST_CASE("messages of gRPC are taken apart, wherever they are cut") {
  check_parses("", "");
  check_parses(
      "\0\0\0\0\x03"
      "abc"s,
      "[0 3]abc.");
  check_parses("\0\0\0\0\0"s, "[0 0].");
  check_parses(
      "\x01\0\0\0\x02"
      "ab\0\0\0\0\0\0\0\0\0\x01x"s,
      "[1 2]ab.[0 0].[0 1]x.");
  check_parses(
      "\x80\0\0\0\x04"
      "a: b"s,
      "[128 4]a: b.");
  check_parses(
      "\0\0\0\0\x03"
      "ab"s,
      "[0 3]ab…");
  check_parses("\0\0\0"s, "…");
  check_parses(
      "\0\xff\xff\xff\xff"
      "ab"s,
      "[0 4294967295]ab…");
}

TEST_CASE("flags that mean nothing are malformed") {
  check_parses("\x02\0\0\0\x01x"s, "malformed");
  check_parses("\0\0\0\0\x01x{\"a\":1}"s, "[0 1]x.malformed");
}

TEST_CASE("a prefix that is written is read again") {
  std::string out;
  write_grpc_prefix(out, {1, 0x01020304});
  CHECK(out == "\x01\x01\x02\x03\x04");
}

TEST_CASE("which bodies are gRPC") {
  for (const char* type : {"application/grpc", "application/grpc+proto", "APPLICATION/GRPC+json",
                           "application/grpc;charset=utf-8", "application/grpc-web",
                           "application/grpc-web+proto ; x=y"})
    CHECK(grpc(type));
  for (const char* type : {"application/grpc-web-text", "application/grpc-web-text+proto",
                           "application/grpcx", "application/json", "", "text/application/grpc"})
    CHECK_FALSE(grpc(type));
  CHECK_FALSE(is_grpc(HeaderList()));
}
