// The request target (RFC 9112 section 3.2) split into what policy decides on.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/authority.hpp"
#include "http/message.hpp"

namespace warder {

struct Target {
  enum class Form : std::uint8_t { origin, absolute, authority, asterisk };
  Form form = Form::origin;
  std::optional<Scheme> scheme;       // absolute form
  std::optional<HostPort> host_port;  // absolute and authority form
  std::string path;   // as sent, "/" when absolute form has none, "*" for asterisk form
  std::string query;  // as sent, without '?'; has_query tells "" from none
  bool has_query = false;
};

// Characters that a target may have: visible ASCII without '#' and '\\', and where a host stands (authority and
// absolute form) also bytes beyond ASCII, of which HostName makes A-labels.
bool has_target_chars(std::string_view method, std::string_view target);

// nullopt: malformed. Refuses fragments, userinfo, white space, control bytes, backslashes, and
// non-ASCII bytes but in a host.
std::optional<Target> parse_target(std::string_view method, std::string_view target);

// Paths that servers and matchers read in two ways: a dot segment (also %2e, also
// once %2F is a slash, also with ";parameters", also escaped up to three times), "%5C", "%00", '\\',
// a broken percent escape. Such a request is refused before any rule sees it.
bool is_ambiguous_path(std::string_view path);

}  // namespace warder
