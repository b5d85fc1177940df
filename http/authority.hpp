// The one name of a destination: what policy decides on, what is resolved, dialled, verified by TLS,
// swapped for and recorded (docs/architecture.md, "One authority").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace warder {

enum class AuthorityError : int {
  empty = 1,
  bad_character,  // control, space, NUL, '%', '@', '/', '\\', '*', what is not UTF-8; also after
                  // full-width forms have become ASCII
  bad_label,      // empty, over 63 bytes, leading or trailing hyphen
  too_long,       // over 253 bytes
  odd_ipv4,       // 127.1, 0x7f.0.0.1, 2130706433, 0177.0.0.1: a name to some, an address to others
  bad_ipv6,       // not RFC 4291 text, or with a zone
  bad_port,
  bad_idn,  // letters beyond ASCII that IDNA does not allow, or not there
};
error_code make_error_code(AuthorityError error);

// A canonical DNS name (lower case, no trailing dot, A-labels) or a canonical IP address literal.
// An invalid one cannot exist.
class HostName {
 public:
  enum class Kind : std::uint8_t { name, ipv4, ipv6 };

  // `text` has no port. IPv6 with or without brackets. One trailing dot is taken off.
  // A name whose last label is all digits or 0x… is refused: it is an IPv4 spelling to getaddrinfo.
  // UTF-8 becomes A-labels (UTS #46), and never an address: "１２７.0.0.1" is refused. A-labels are
  // kept as they are and never decoded, so that each host has one text whoever wrote it.
  static Result<HostName> parse(std::string_view text);

  Kind kind() const { return kind_; }
  bool is_address() const { return kind_ != Kind::name; }
  // Without brackets: "api.example.com", "192.0.2.1", "2001:db8::1".
  const std::string& str() const { return text_; }
  // As it stands in a URL or a Host field: IPv6 in brackets.
  std::string uri_host() const;

  friend auto operator<=>(const HostName&, const HostName&) = default;

 private:
  HostName(Kind kind, std::string text) : kind_(kind), text_(std::move(text)) {}
  Kind kind_;
  std::string text_;
};

enum class Scheme : std::uint8_t { http, https, tcp };
std::string_view to_string(Scheme scheme);
constexpr std::uint16_t default_port(Scheme scheme) { return scheme == Scheme::http ? 80 : 443; }

struct Authority {
  Scheme scheme;
  HostName host;
  std::uint16_t port;

  std::string host_port() const;  // "api.example.com:443"
  std::string origin()
      const;  // "https://api.example.com", ":port" only where it is not the default
  friend auto operator<=>(const Authority&, const Authority&) = default;
};

struct HostPort {
  HostName host;
  std::optional<std::uint16_t> port;
};
// The value of a Host field or the authority of an absolute form (RFC 9110 section 7.2): no userinfo,
// port 1..65535 when there is a colon.
Result<HostPort> parse_host_port(std::string_view text);

}  // namespace warder

template <>
struct boost::system::is_error_code_enum<warder::AuthorityError> : std::true_type {};
