// SOCKS5 messages, whole, in every split, and wrong.
#include "http/socks5.hpp"

#include "tests/support/catch.hpp"

namespace warder::socks5 {
namespace {

using namespace std::string_literals;

// Fed up to each length: more is wanted until the whole is there, and nothing of it is taken before.
template <class Message>
Message read_in_every_split(std::variant<Message, Outcome> (*read)(std::string_view&),
                            const std::string& whole) {
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::string_view in = std::string_view(whole).substr(0, size);
    auto outcome = read(in);
    INFO("after " << size << " of " << whole.size() << " bytes");
    REQUIRE(std::holds_alternative<Outcome>(outcome));
    CHECK(std::get<Outcome>(outcome) == Outcome::need_more);
    CHECK(in.size() == size);
  }
  const std::string more = whole + "rest";
  std::string_view in = more;
  auto outcome = read(in);
  REQUIRE(std::holds_alternative<Message>(outcome));
  CHECK(in == "rest");
  return std::get<Message>(std::move(outcome));
}

template <class Message>
bool is_bad(std::variant<Message, Outcome> (*read)(std::string_view&), const std::string& bytes) {
  std::string_view in = bytes;
  auto outcome = read(in);
  return std::holds_alternative<Outcome>(outcome) && std::get<Outcome>(outcome) == Outcome::bad &&
         in == bytes;
}

TEST_CASE("A greeting says which methods the client has") {
  const Greeting both = read_in_every_split(read_greeting, "\x05\x02\x00\x02"s);
  CHECK((both.offers_none && both.offers_password));
  const Greeting gssapi = read_in_every_split(read_greeting, "\x05\x01\x01"s);
  CHECK_FALSE((gssapi.offers_none || gssapi.offers_password));
  CHECK(is_bad(read_greeting, "\x04\x01"s));
  CHECK(is_bad(read_greeting, "\x05\x00"s));
  CHECK(is_bad(read_greeting, "GET "));
}

TEST_CASE("A login has a user and a password, either of them empty") {
  const Login login = read_in_every_split(read_login, "\x01\x02me\x05token"s);
  CHECK(login.user == "me");
  CHECK(login.password == "token");
  const Login bare = read_in_every_split(read_login, "\x01\x01x\x00"s);
  CHECK(bare.password.empty());
  CHECK(is_bad(read_login, "\x05\x01"s));
  const std::string longest = "\x01\xff"s + std::string(255, 'u') + "\xff"s + std::string(255, 'p');
  CHECK(read_in_every_split(read_login, longest).password.size() == 255);
}

TEST_CASE("A request names a host in one of three ways") {
  const Request name =
      read_in_every_split(read_request, "\x05\x01\x00\x03\x08\x41pi.test\x01\xbb"s);
  CHECK(name.is_connect);
  REQUIRE(name.host);
  CHECK(name.host->str() == "api.test");
  CHECK(name.port == 443);
  const Request v4 = read_in_every_split(read_request, "\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50"s);
  REQUIRE(v4.host);
  CHECK(v4.host->str() == "192.0.2.1");
  CHECK(v4.port == 80);
  const Request v6 = read_in_every_split(
      read_request, "\x05\x01\x00\x04\x20\x01\x0d\xb8"s + std::string(11, '\0') + "\x07\x01\xbb"s);
  REQUIRE(v6.host);
  CHECK(v6.host->str() == "2001:db8::7");
}

TEST_CASE("What is no host is none, and what is no CONNECT says so") {
  for (const std::string& host : {"a b"s, "api.test\0.evil.test"s, "127.1"s, "0x7f.1"s, "a..b"s}) {
    const std::string bytes =
        "\x05\x01\x00\x03"s + static_cast<char>(host.size()) + host + "\x01\xbb"s;
    CHECK_FALSE(read_in_every_split(read_request, bytes).host);
  }
  CHECK_FALSE(read_in_every_split(read_request, "\x05\x01\x00\x03\x00\x01\xbb"s).host);
  CHECK_FALSE(
      read_in_every_split(read_request, "\x05\x02\x00\x01\xc0\x00\x02\x01\x00\x50"s).is_connect);

  const std::string text = "\x05\x01\x00\x09????"s;
  std::string_view unknown = text;
  auto outcome = read_request(unknown);
  REQUIRE(std::holds_alternative<Request>(outcome));
  CHECK_FALSE(std::get<Request>(outcome).known_type);
  CHECK(is_bad(read_request, "\x05\x01\x01\x01\x01"s));
  CHECK(is_bad(read_request, "\x04"s));
}

TEST_CASE("Answers are as long as the protocol says") {
  CHECK(write_method(Method::unacceptable) == "\x05\xff");
  CHECK(write_login_status(LoginStatus::accepted) == "\x01\x00"s);
  CHECK(write_reply(Reply::not_allowed) == "\x05\x02\x00\x01"s + std::string(6, '\0'));
}

}  // namespace
}  // namespace warder::socks5
