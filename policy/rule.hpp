// A rule as it was read from the config, already checked: patterns cannot be invalid here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/field_match.hpp"
#include "policy/host_pattern.hpp"
#include "policy/path_pattern.hpp"
#include "policy/query_keys.hpp"

namespace warder {

enum class Action : std::uint8_t {
  deny,
  allow,   // HTTP, inspected
  ask,     // the same, once somebody has said yes to this very request
  tunnel,  // TLS to the host that the rule names, end to end: not inspected, no secrets
  tcp,     // any bytes: not inspected, no secrets
};
constexpr std::string_view to_string(Action action) {
  switch (action) {
    case Action::deny: return "deny";
    case Action::allow: return "allow";
    case Action::ask: return "ask";
    case Action::tunnel: return "tunnel";
    case Action::tcp: return "tcp";
  }
  return "deny";
}
constexpr bool is_inspected(Action action) {
  return action == Action::allow || action == Action::ask;
}
constexpr bool is_raw(Action action) { return action == Action::tunnel || action == Action::tcp; }

// The sandbox's TCP 53 is DNS and is answered here.
inline constexpr std::uint16_t kDnsPort = 53;

// Matches where everything in it does. What allows reads a request strictly, as it was sent; what
// denies reads it in every way that a server might: the doubt always refuses.
struct Rule {
  std::string name;   // as given, else "rule-3" (its place, from 1)
  std::string where;  // "warder.yaml:12", or "--allow api.test"
  std::vector<HostPattern> hosts;
  std::vector<std::uint16_t>
      ports;  // empty: allow: 80 (clear text) and 443 (TLS); deny: every port; tunnel, tcp: none
  std::vector<std::string> methods;  // empty: allow: any but TRACE and CONNECT; deny: any
  std::vector<PathPattern> paths;    // empty: any
  // Empty: any query. Allow: the query has no key but these (none is fine). Deny: it has at least one.
  std::vector<QueryKey> query;
  // Empty: any. Allow: each of these fields is there, and all its values fit. Deny: any of these
  // fields has any value that fits. Trailers are not looked at.
  std::vector<FieldMatch> headers;
  // Allow, in bytes as the sandbox sends them: a body that is known to be longer does not fit; one
  // whose length nobody knows fits and is cut off there.
  std::optional<std::uint64_t> max_body;
  Action action = Action::deny;
  bool allow_private = false;  // RFC 1918 and ULA addresses may be dialled
};

}  // namespace warder
