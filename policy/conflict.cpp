#include "policy/conflict.hpp"

#include <algorithm>
#include <map>

#include "policy/prefix_tree.hpp"
#include "policy/rule_match.hpp"

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
  if (is_blanket_deny(http)) return "";
  const auto port = std::find_if(raw.ports.begin(), raw.ports.end(),
                                 [&](std::uint16_t one) { return covers_port(http, one); });
  if (port == raw.ports.end()) return "";
  const HostPattern* host = shared_host(raw, http);
  if (host == nullptr) return "";

  const std::string at = host->str() + " port " + std::to_string(*port);
  std::string out = named(raw) + " passes " + at + " uninspected (action " +
                    std::string(to_string(raw.action)) + "), and " + named(http);
  if (http.action == Action::deny) {
    return out + " denies requests there that nobody would see: give " + named(http) +
           " ports that leave " + std::to_string(*port) + " out";
  }
  return out + " allows it as inspected HTTP: take port " + std::to_string(*port) +
         " or the host out of one of them" +
         (http.ports.empty() ? " (a rule without ports has 80 and 443)" : "");
}

// Raw rules by their hosts' keys, so that a host finds those that it could overlap: what is a prefix
// of its key, or begins with it.
class RawHosts {
 public:
  explicit RawHosts(const std::vector<Rule>& rules) {
    std::map<std::string, std::uint32_t> list_of;
    for (std::size_t place = 0; place < rules.size(); ++place) {
      if (!is_raw(rules[place].action)) continue;
      for (const HostPattern& host : rules[place].hosts) {
        const auto next = static_cast<std::uint32_t>(lists_.size());
        const auto [list, is_new] = list_of.emplace(host.key(), next);
        if (is_new) lists_.emplace_back();
        lists_[list->second].push_back(place);
      }
    }
    keys_ = PrefixTree({list_of.begin(), list_of.end()});
  }

  // Ascending, each once.
  std::vector<std::size_t> near(const Rule& rule) const {
    std::vector<std::size_t> out;
    const auto add = [&](std::uint32_t list) {
      out.insert(out.end(), lists_[list].begin(), lists_[list].end());
      return true;
    };
    for (const HostPattern& host : rule.hosts) {
      const std::string key = host.key();
      keys_.for_each_prefix(key, [&](std::uint32_t list, std::size_t) { add(list); });
      if (host.kind() != HostPattern::Kind::exact) keys_.for_each_below(key, add);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

 private:
  PrefixTree keys_;
  std::vector<std::vector<std::size_t>> lists_;
};

}  // namespace

std::optional<Contradiction> first_contradiction(const std::vector<Rule>& rules) {
  const RawHosts raw(rules);
  struct Pair {
    std::size_t later;
    std::size_t earlier;
    auto operator<=>(const Pair&) const = default;
  };
  std::optional<Pair> first;
  for (std::size_t place = 0; place < rules.size(); ++place) {
    if (is_raw(rules[place].action) || is_blanket_deny(rules[place])) continue;
    for (const std::size_t other : raw.near(rules[place])) {
      const Pair pair{std::max(place, other), std::min(place, other)};
      if (first && *first <= pair) continue;
      if (!contradiction_of(rules[other], rules[place]).empty()) first = pair;
    }
  }
  if (!first) return std::nullopt;
  const bool later_is_raw = is_raw(rules[first->later].action);
  return Contradiction{first->later,
                       later_is_raw ? contradiction_of(rules[first->later], rules[first->earlier])
                                    : contradiction_of(rules[first->earlier], rules[first->later])};
}

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
