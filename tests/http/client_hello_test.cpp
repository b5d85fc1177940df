// The server name of a ClientHello, in any split; what is no ClientHello is told at once.
#include "http/client_hello.hpp"

#include "tests/support/catch.hpp"

using namespace warder;

namespace {

using State = ClientHello::State;

std::string number(std::size_t value, int size) {
  std::string out;
  for (int shift = (size - 1) * 8; shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift & 0xff);
  return out;
}
std::string vector_of(const std::string& inside, int size) {
  return number(inside.size(), size) + inside;
}
std::string extension(std::size_t type, const std::string& data) {
  return number(type, 2) + vector_of(data, 2);
}
std::string sni(const std::string& name) {
  return extension(0, vector_of(number(0, 1) + vector_of(name, 2), 2));
}
std::string message(const std::string& extensions) {
  const std::string body = "\x03\x03" + std::string(32, 'r') + vector_of("sess", 1) +
                           vector_of("\x13\x01", 2) + vector_of(std::string(1, '\0'), 1) +
                           extensions;
  return number(1, 1) + vector_of(body, 3);
}
std::string record(const std::string& payload) {
  return std::string("\x16\x03\x01") + vector_of(payload, 2);
}
std::string hello(const std::string& extensions) {
  return record(message(vector_of(extensions, 2)));
}

}  // namespace

TEST_CASE("the name is read whatever the split, and nothing before the hello is whole") {
  const std::string bytes = hello(extension(10, "\x00\x1d") + sni("api.test") + extension(43, "x"));
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    CAPTURE(cut);
    CHECK(parse_client_hello(bytes.substr(0, cut)).state == State::incomplete);
  }
  CHECK(parse_client_hello(bytes).state == State::complete);
  CHECK(parse_client_hello(bytes).server_name == "api.test");
  CHECK(parse_client_hello(bytes + "\x14\x03\x03...").server_name == "api.test");
}

TEST_CASE("a hello may lie in many records") {
  const std::string whole = message(vector_of(sni("api.test"), 2));
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    const std::string bytes = record(whole.substr(0, cut)) + record(whole.substr(cut));
    CHECK(parse_client_hello(bytes).server_name == "api.test");
  }
  std::string bytewise;
  for (const char c : whole) bytewise += record(std::string(1, c));
  CHECK(parse_client_hello(bytewise).server_name == "api.test");
}

TEST_CASE("a hello without a name is complete") {
  CHECK(parse_client_hello(record(message(""))).state == State::complete);
  CHECK_FALSE(parse_client_hello(record(message(""))).server_name);
  CHECK(parse_client_hello(hello(extension(10, "x"))).state == State::complete);
  CHECK_FALSE(parse_client_hello(hello(extension(10, "x"))).server_name);
}

TEST_CASE("what is no ClientHello is broken") {
  const std::string good = message(vector_of(sni("api.test"), 2));
  const std::string two =
      vector_of(number(0, 1) + vector_of("a.test", 2) + number(0, 1) + vector_of("b.test", 2), 2);
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n"), std::string("SSH-2.0-x\r\n"),
        std::string("\x15\x03\x01"), std::string("\x16\x02\x01"),
        std::string("\x16\x03\x01\x00\x00", 5), std::string("\x16\x03\x01\xff\xff", 5),
        std::string("\x16\x03\x01\x00\x04\x02", 6),
        std::string("\x16\x03\x01\x00\x04\x01\xff\xff\xff", 9), record(good + "more"),
        hello(sni("a.test") + sni("b.test")), hello(extension(0, two)), hello(extension(0, "")),
        hello(sni("")),
        hello(extension(0, std::string("\x00\x05\x00\x00\x09"
                                       "a",
                                       6))),
        record(message("\xff\xff")), record(message(vector_of(std::string(3, '\0'), 2))),
        record(message(vector_of(sni("api.test"), 2) + "x")),
        record(number(1, 1) + number(2, 3) + "xx"), record(number(1, 1) + number(20'000, 3))}) {
    CAPTURE(bytes);
    CHECK(parse_client_hello(bytes).state == State::broken);
  }
  std::string endless;
  while (endless.size() < kMaxClientHello) endless += record(message("").substr(0, 1) + "");
  CHECK(parse_client_hello(endless).state == State::broken);
}
