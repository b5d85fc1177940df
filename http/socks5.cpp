#include "http/socks5.hpp"

#include <arpa/inet.h>

#include <array>

namespace warder::socks5 {
namespace {

constexpr unsigned char kVersion = 5;
constexpr unsigned char kLoginVersion = 1;

unsigned byte(std::string_view in, std::size_t at) { return static_cast<unsigned char>(in[at]); }

std::optional<HostName> address(int family, std::string_view bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_ntop(family, bytes.data(), text.data(), text.size()) == nullptr) return std::nullopt;
  auto host = HostName::parse(text.data());
  if (!host) return std::nullopt;
  return std::move(*host);
}

std::optional<HostName> name(std::string_view text) {
  auto host = HostName::parse(text);
  if (!host) return std::nullopt;
  return std::move(*host);
}

}  // namespace

std::variant<Greeting, Outcome> read_greeting(std::string_view& in) {
  if (!in.empty() && byte(in, 0) != kVersion) return Outcome::bad;
  if (in.size() < 2 || in.size() < 2 + byte(in, 1)) return Outcome::need_more;
  const std::size_t count = byte(in, 1);
  if (count == 0) return Outcome::bad;
  Greeting greeting;
  for (std::size_t i = 0; i < count; ++i) {
    greeting.offers_none |= byte(in, 2 + i) == static_cast<unsigned>(Method::none);
    greeting.offers_password |= byte(in, 2 + i) == static_cast<unsigned>(Method::password);
  }
  in.remove_prefix(2 + count);
  return greeting;
}

std::variant<Login, Outcome> read_login(std::string_view& in) {
  if (!in.empty() && byte(in, 0) != kLoginVersion) return Outcome::bad;
  if (in.size() < 2) return Outcome::need_more;
  const std::size_t user = byte(in, 1);
  if (in.size() < 3 + user) return Outcome::need_more;
  const std::size_t password = byte(in, 2 + user);
  if (in.size() < 3 + user + password) return Outcome::need_more;
  Login login{std::string(in.substr(2, user)), std::string(in.substr(3 + user, password))};
  in.remove_prefix(3 + user + password);
  return login;
}

std::variant<Request, Outcome> read_request(std::string_view& in) {
  if (!in.empty() && byte(in, 0) != kVersion) return Outcome::bad;
  if (in.size() >= 3 && byte(in, 2) != 0) return Outcome::bad;
  if (in.size() < 5) return Outcome::need_more;
  Request request;
  request.is_connect = byte(in, 1) == 1;
  const unsigned type = byte(in, 3);
  std::size_t begin = 4;
  std::size_t size = 0;
  switch (type) {
    case 1: size = 4; break;
    case 3:
      begin = 5;
      size = byte(in, 4);
      break;
    case 4: size = 16; break;
    default: in = {}; return request;  // of unknown length: nothing behind it can be read
  }
  if (in.size() < begin + size + 2) return Outcome::need_more;
  request.known_type = true;
  const std::string_view target = in.substr(begin, size);
  if (type == 3)
    request.host = name(target);
  else
    request.host = address(type == 1 ? AF_INET : AF_INET6, target);
  request.port =
      static_cast<std::uint16_t>(byte(in, begin + size) << 8 | byte(in, begin + size + 1));
  in.remove_prefix(begin + size + 2);
  return request;
}

std::string write_method(Method method) {
  return {static_cast<char>(kVersion), static_cast<char>(method)};
}

std::string write_login_status(LoginStatus status) {
  return {static_cast<char>(kLoginVersion), static_cast<char>(status)};
}

std::string write_reply(Reply reply) {
  return {static_cast<char>(kVersion), static_cast<char>(reply), 0, 1, 0, 0, 0, 0, 0, 0};
}

}  // namespace warder::socks5
