#include "policy/conflict.hpp"

#include <algorithm>

namespace warder {
namespace {

const HostPattern* shared_host(const Rule& a, const Rule& b) {
  for (const HostPattern& host : a.hosts) {
    const auto overlaps = [&](const HostPattern& other) { return host.overlaps(other); };
    if (std::any_of(b.hosts.begin(), b.hosts.end(), overlaps)) return &host;
  }
  return nullptr;
}

// Does a rule that is not raw speak of this port?
bool covers_port(const Rule& rule, std::uint16_t port) {
  if (!rule.ports.empty())
    return std::find(rule.ports.begin(), rule.ports.end(), port) != rule.ports.end();
  return rule.action == Action::deny || port == 80 || port == 443;
}

std::string named(const Rule& rule) { return "rule '" + rule.name + "' (" + rule.where + ')'; }

// `raw` passes unseen what `http` wants to see.
std::string contradiction_of(const Rule& raw, const Rule& http) {
  // A deny of whole hosts closes raw connections too.
  const bool is_blanket =
      http.methods.empty() &&
      (http.paths.empty() || std::any_of(http.paths.begin(), http.paths.end(),
                                         [](const PathPattern& path) { return path.is_any(); }));
  if (http.action == Action::deny && is_blanket) return "";
  const auto port = std::find_if(raw.ports.begin(), raw.ports.end(),
                                 [&](std::uint16_t one) { return covers_port(http, one); });
  if (port == raw.ports.end()) return "";
  const HostPattern* host = shared_host(raw, http);
  if (host == nullptr) return "";

  const std::string at = host->str() + " port " + std::to_string(*port);
  std::string out = named(raw) + " passes " + at + " uninspected (action " +
                    std::string(to_string(raw.action)) + "), and " + named(http);
  if (http.action == Action::deny) {
    return out + " denies methods or paths there, which nobody would see: give " + named(http) +
           " ports that leave " + std::to_string(*port) + " out";
  }
  return out + " allows it as inspected HTTP: take port " + std::to_string(*port) +
         " or the host out of one of them" +
         (http.ports.empty() ? " (a rule without ports has 80 and 443)" : "");
}

}  // namespace

std::string contradiction(const Rule& rule, const std::vector<Rule>& others) {
  for (const Rule& other : others) {
    if (is_raw(rule.action) == is_raw(other.action)) continue;
    std::string sentence =
        is_raw(rule.action) ? contradiction_of(rule, other) : contradiction_of(other, rule);
    if (!sentence.empty()) return sentence;
  }
  return "";
}

std::string only_raw_rule_for(const HostPattern& host, const std::vector<Rule>& rules) {
  std::string raw;
  for (const Rule& rule : rules) {
    const bool fits = std::any_of(rule.hosts.begin(), rule.hosts.end(),
                                  [&](const HostPattern& one) { return one.overlaps(host); });
    if (!fits || rule.action == Action::deny) continue;
    if (is_inspected(rule.action)) return "";
    if (raw.empty()) raw = rule.name;
  }
  return raw;
}

}  // namespace warder
