// The reserved name of the machine that the gateway runs on: its loopback, and nothing that any DNS says. Only a rule
// that has exactly this host and lists ports opens it; what denies may mean it by a wildcard too.
#pragma once

#include <string_view>

#include "policy/rule.hpp"

namespace warder {

inline constexpr std::string_view kHostServiceName = "host.warder.internal";

inline bool is_host_service(const HostName& host) { return host.str() == kHostServiceName; }
inline bool is_host_service(const HostPattern& pattern) {
  return pattern.kind() == HostPattern::Kind::exact && pattern.str() == kHostServiceName;
}
// Does the rule name it, and not by a wildcard?
bool names_host_service(const Rule& rule);
// Does the rule count where it is asked for?
bool counts_for_host_service(const Rule& rule);
// What is wrong with a rule that names it and lists no ports; empty: nothing.
std::string host_service_fault(const Rule& rule);

}  // namespace warder
