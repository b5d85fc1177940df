#include "http/h1_writer.hpp"

#include "tests/support/catch.hpp"

using namespace warder;
using namespace std::string_literals;

namespace {

RequestHead request() {
  RequestHead head{.method = "GET", .target = "/x?y", .minor = 1, .fields = {}};
  head.fields.add("Host", "api.test");
  head.fields.add("x-EMPTY", "");
  head.fields.add("host2", "a\tb\xe9");
  return head;
}

}  // namespace

TEST_CASE("a head is written with its fields in order and spelling") {
  std::string out = "before ";
  REQUIRE(write_head(out, request()));
  CHECK(out ==
        "before GET /x?y HTTP/1.1\r\nHost: api.test\r\nx-EMPTY: \r\nhost2: a\tb\xe9\r\n\r\n");
}

TEST_CASE("a response head is written with its phrase, and always in our own version") {
  ResponseHead head{.status = 200, .phrase = "All Fine", .minor = 0, .fields = {}};
  head.fields.add("A", "1");
  std::string out;
  REQUIRE(write_head(out, head));
  CHECK(out == "HTTP/1.1 200 All Fine\r\nA: 1\r\n\r\n");
  out.clear();
  REQUIRE(write_head(out, ResponseHead{.status = 404, .phrase = "", .minor = 1, .fields = {}}));
  CHECK(out == "HTTP/1.1 404 \r\n\r\n");
}

TEST_CASE("BR-009 a value with a line end or NUL in it is never written") {
  for (const std::string& value :
       {"abc\r\nX-Injected: 1"s, "abc\n"s, "abc\r"s, "abc\0def"s, "a\x1b"s, "a\x7f"s}) {
    RequestHead head = request();
    head.fields.add("Authorization", value);
    std::string out = "kept";
    CHECK_FALSE(write_head(out, head));
    CHECK(out == "kept");
    HeaderList trailers;
    trailers.add("X-Sum", value);
    CHECK_FALSE(write_last_chunk(out, trailers));
    CHECK(out == "kept");
  }
}

TEST_CASE("BR-009 nor a name, target, method or phrase that would start something else") {
  std::string out;
  for (const std::string& name : {""s, "a b"s, "a:"s, "a\r\nb"s, "\xe9"s, ":authority"s}) {
    RequestHead head = request();
    head.fields.add(name, "v");
    CHECK_FALSE(write_head(out, head));
  }
  for (const std::string& target : {""s, "/a b"s, "/ HTTP/1.1\r\nX: 1"s, "/\n"s, "/\xe9"s}) {
    RequestHead head = request();
    head.target = target;
    CHECK_FALSE(write_head(out, head));
  }
  for (const std::string& method : {""s, "GET /"s, "GET\r\n"s}) {
    RequestHead head = request();
    head.method = method;
    CHECK_FALSE(write_head(out, head));
  }
  CHECK_FALSE(
      write_head(out, ResponseHead{.status = 200, .phrase = "O\nK", .minor = 1, .fields = {}}));
  CHECK_FALSE(write_head(out, ResponseHead{.status = 0, .phrase = "", .minor = 1, .fields = {}}));
  CHECK_FALSE(
      write_head(out, ResponseHead{.status = 1000, .phrase = "", .minor = 1, .fields = {}}));
  CHECK(out.empty());
}

TEST_CASE("chunks carry their size in hex, and an empty one is not written") {
  std::string out;
  write_chunk(out, "hello");
  write_chunk(out, "");
  write_chunk(out, std::string(255, 'x'));
  HeaderList trailers;
  trailers.add("X-Sum", "1");
  REQUIRE(write_last_chunk(out, trailers));
  CHECK(out == "5\r\nhello\r\nff\r\n" + std::string(255, 'x') + "\r\n0\r\nX-Sum: 1\r\n\r\n");
}
