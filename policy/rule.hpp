// A rule as it was read from the config, already checked: patterns cannot be invalid here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/host_pattern.hpp"
#include "policy/path_pattern.hpp"

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

struct Rule {
  std::string name;   // as given, else "rule-3" (its place, from 1)
  std::string where;  // "warder.yaml:12", or "--allow api.test"
  std::vector<HostPattern> hosts;
  std::vector<std::uint16_t>
      ports;  // empty: allow: 80 (clear text) and 443 (TLS); deny: every port; tunnel, tcp: none
  std::vector<std::string> methods;  // empty: allow: any but TRACE and CONNECT; deny: any
  std::vector<PathPattern> paths;    // empty: any
  Action action = Action::deny;
  bool allow_private = false;  // RFC 1918 and ULA addresses may be dialled
};

}  // namespace warder
