// SOCKS version 5 as bytes (RFC 1928, RFC 1929): what a client says, and what it is answered. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "http/authority.hpp"

namespace warder::socks5 {

enum class Outcome : std::uint8_t { need_more, bad };

// `in` is moved past what was read; untouched by an Outcome. All are bounded by the protocol (at most 513 bytes).
struct Greeting {
  bool offers_none = false;      // method 0
  bool offers_password = false;  // method 2
};
std::variant<Greeting, Outcome> read_greeting(std::string_view& in);

struct Login {
  std::string user;
  std::string password;
};
std::variant<Login, Outcome> read_login(std::string_view& in);

struct Request {
  bool is_connect = false;       // BIND and UDP ASSOCIATE are not served
  std::optional<HostName> host;  // none: no address type that is known, or no host
  bool known_type = false;
  std::uint16_t port = 0;
};
std::variant<Request, Outcome> read_request(std::string_view& in);

enum class Method : std::uint8_t { none = 0, password = 2, unacceptable = 0xff };
std::string write_method(Method method);
enum class LoginStatus : std::uint8_t { accepted = 0, refused = 1 };
std::string write_login_status(LoginStatus status);

// RFC 1928 section 6.
enum class Reply : std::uint8_t {
  succeeded = 0,
  general_failure = 1,
  not_allowed = 2,
  host_unreachable = 4,
  connection_refused = 5,
  command_not_supported = 7,
  address_type_not_supported = 8,
};
// The bound address is given as 0.0.0.0:0: where we dial from is of no use to the client.
std::string write_reply(Reply reply);

}  // namespace warder::socks5
