#include "http/authority.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "http/chars.hpp"
#include "http/idna.hpp"

namespace warder {
namespace {

constexpr std::size_t kMaxName = 253;
constexpr std::size_t kMaxLabel = 63;

class AuthorityCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "warder.authority"; }
  std::string message(int code) const override {
    switch (static_cast<AuthorityError>(code)) {
      case AuthorityError::empty: return "the host name is empty";
      case AuthorityError::bad_character: return "a character that no host name has";
      case AuthorityError::bad_label: return "a label that is empty, too long or ends in a hyphen";
      case AuthorityError::too_long: return "the host name is longer than 253 bytes";
      case AuthorityError::odd_ipv4: return "an IPv4 address that is not four decimal numbers";
      case AuthorityError::bad_ipv6: return "not an IPv6 address";
      case AuthorityError::bad_port: return "the port is not a number from 1 to 65535";
      case AuthorityError::bad_idn: return "characters that no internationalized name has";
    }
    return "not an authority";
  }
};

// '_' is no host name by RFC 952, but names with it are resolved and served every day.
constexpr CharClass kNameChar =
    char_class([](int c) { return is_alnum(c) || c == '-' || c == '.' || c == '_'; });
constexpr bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
constexpr CharClass kIpv6Char = char_class([](int c) {
  return hex_value(static_cast<char>(c)) >= 0 || c == ':' || c == '.' || c == '[' || c == ']' ||
         c == '%';
});

Result<std::string> canonical_ipv6(std::string_view text) {
  if (text.front() == '[') {
    if (text.back() != ']') return AuthorityError::bad_ipv6;
    text = text.substr(1, text.size() - 2);
  }
  if (text.size() >= INET6_ADDRSTRLEN) return AuthorityError::bad_ipv6;
  in6_addr address{};
  if (::inet_pton(AF_INET6, std::string(text).c_str(), &address) != 1) {
    return AuthorityError::bad_ipv6;
  }
  std::array<char, INET6_ADDRSTRLEN> out{};
  ::inet_ntop(AF_INET6, &address, out.data(), out.size());
  return std::string(out.data());
}

// Four decimal numbers up to 255 without leading zeros: the spelling that everybody reads alike.
bool is_dotted_ipv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    const std::size_t dot = part < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos) return false;
    const std::string_view number = text.substr(0, dot);
    if (number.empty() || number.size() > 3 || (number.size() > 1 && number[0] == '0'))
      return false;
    int value = 0;
    for (const char c : number) {
      if (!is_digit(c)) return false;
      value = value * 10 + (c - '0');
    }
    if (value > 255) return false;
    text.remove_prefix(std::min(dot + 1, text.size()));
  }
  return true;
}

// inet_aton takes one to four decimal, octal or 0x numbers; a URL parser looks at the last.
bool is_number(std::string_view label) {
  if (std::all_of(label.begin(), label.end(), is_digit)) return true;
  return label.size() >= 2 && label[0] == '0' && label[1] == 'x' &&
         std::all_of(label.begin() + 2, label.end(), [](char c) { return hex_value(c) >= 0; });
}

Result<> check_labels(std::string_view name) {
  for (;;) {
    const std::size_t dot = name.find('.');
    const std::string_view label = name.substr(0, dot);
    if (label.empty() || label.size() > kMaxLabel || label.front() == '-' || label.back() == '-') {
      return AuthorityError::bad_label;
    }
    if (dot == std::string_view::npos) {
      if (is_number(label)) return AuthorityError::odd_ipv4;
      return {};
    }
    name.remove_prefix(dot + 1);
  }
}

// Lower case and without its last dot, all labels good. `text` is ASCII.
Result<std::string> canonical_name(std::string_view text) {
  if (!all_in(kNameChar, text)) return AuthorityError::bad_character;
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.empty()) return AuthorityError::empty;
  if (text.size() > kMaxName) return AuthorityError::too_long;
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(), to_lower);
  if (const Result<> labels = check_labels(name); !labels) return labels.error();
  return name;
}

// Nobody writes an address in letters beyond ASCII but to get one past a check: check_labels refuses its last number.
Result<std::string> canonical_idn(std::string_view text) {
  const auto fits = [](char c) { return !is_ascii(c) || is_in(kNameChar, c); };
  if (!std::all_of(text.begin(), text.end(), fits)) return AuthorityError::bad_character;
  const Result<std::string> ascii = to_a_labels(text);
  if (!ascii) return ascii.error();
  return canonical_name(*ascii);
}

Result<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || text.front() == '0') return AuthorityError::bad_port;
  return port;
}

}  // namespace

error_code make_error_code(AuthorityError error) {
  static const AuthorityCategory category;
  return {static_cast<int>(error), category};
}

Result<HostName> HostName::parse(std::string_view text) {
  if (text.empty()) return AuthorityError::empty;
  const bool ipv6_like = text.front() == '[' || text.find(':') != std::string_view::npos;
  if (ipv6_like && all_in(kIpv6Char, text)) {
    Result<std::string> address = canonical_ipv6(text);
    if (!address) return address.error();
    return HostName(Kind::ipv6, std::move(*address));
  }
  if (text.front() == '[') return AuthorityError::bad_ipv6;
  const bool ascii = std::all_of(text.begin(), text.end(), is_ascii);
  if (ascii && is_dotted_ipv4(text)) return HostName(Kind::ipv4, std::string(text));
  Result<std::string> name = ascii ? canonical_name(text) : canonical_idn(text);
  if (!name) return name.error();
  return HostName(Kind::name, std::move(*name));
}

std::string HostName::uri_host() const { return kind_ == Kind::ipv6 ? '[' + text_ + ']' : text_; }

std::string_view to_string(Scheme scheme) {
  switch (scheme) {
    case Scheme::http: return "http";
    case Scheme::https: return "https";
    case Scheme::tcp: return "tcp";
  }
  return "tcp";
}

std::string Authority::host_port() const { return host.uri_host() + ':' + std::to_string(port); }

std::string Authority::origin() const {
  const bool usual = scheme != Scheme::tcp && port == default_port(scheme);
  return std::string(to_string(scheme)) + "://" + (usual ? host.uri_host() : host_port());
}

Result<HostPort> parse_host_port(std::string_view text) {
  // The colons inside an IPv6 literal are not the port's.
  const std::size_t literal = text.starts_with('[') ? text.find(']') : 0;
  if (literal == std::string_view::npos) return AuthorityError::bad_ipv6;
  const std::size_t colon = text.find(':', literal);

  Result<HostName> host = HostName::parse(text.substr(0, colon));
  if (!host) return host.error();
  if (colon == std::string_view::npos) return HostPort{std::move(*host), std::nullopt};
  const Result<std::uint16_t> port = parse_port(text.substr(colon + 1));
  if (!port) return port.error();
  return HostPort{std::move(*host), *port};
}

}  // namespace warder
