#include "policy/ask.hpp"

#include <algorithm>

namespace warder {
namespace {

bool reaches(const Rule& rule, const Authority& authority) {
  const bool port = rule.ports.empty() ? authority.port == 80 || authority.port == 443
                                       : std::find(rule.ports.begin(), rule.ports.end(),
                                                   authority.port) != rule.ports.end();
  return port && std::any_of(rule.hosts.begin(), rule.hosts.end(),
                             [&](const HostPattern& host) { return host.matches(authority.host); });
}

}  // namespace

bool may_dial_unasked(const std::vector<Rule>& rules, const Authority& authority) {
  const auto asks = [](const Rule& rule) { return rule.action == Action::ask; };
  if (std::none_of(rules.begin(), rules.end(), asks)) return true;
  return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
    return rule.action == Action::allow && reaches(rule, authority);
  });
}

}  // namespace warder
