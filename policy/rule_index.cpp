#include "policy/rule_index.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "policy/host_key.hpp"
#include "policy/host_service.hpp"
#include "policy/rule_match.hpp"

namespace warder {
namespace {

std::set<std::string> prefixes_of(const Rule& rule) {
  if (rule.paths.empty()) return {""};
  std::set<std::string> prefixes;
  for (const PathPattern& path : rule.paths) prefixes.insert(path.prefix());
  return prefixes;
}

HostRules host_rules(const std::vector<Rule>& rules, const std::vector<RulePlace>& places) {
  HostRules out;
  std::vector<RulePlace> denies;
  std::vector<RulePlace> allows;
  std::set<std::pair<std::vector<std::uint16_t>, std::vector<std::string>>> kinds;
  for (const RulePlace place : places) {
    const Rule& rule = rules[place];
    if (is_blanket_deny(rule)) {
      out.blanket_denies.push_back(place);
    } else if (rule.action == Action::deny) {
      denies.push_back(place);
    } else if (is_raw(rule.action)) {
      for (const std::uint16_t port : rule.ports) out.raw.emplace_back(port, place);
    } else {
      allows.push_back(place);
      if (kinds.emplace(rule.ports, rule.methods).second) out.kinds.push_back(place);
    }
  }
  std::sort(out.raw.begin(), out.raw.end());
  out.denies = PathIndex(rules, std::move(denies));
  out.allows = PathIndex(rules, std::move(allows));
  return out;
}

}  // namespace

PathIndex::PathIndex(const std::vector<Rule>& rules, std::vector<RulePlace> places) {
  if (places.size() <= kFew) {
    few_ = std::move(places);
    return;
  }
  auto many = std::make_shared<Many>();
  std::map<std::string, std::uint32_t> list_of;
  for (const RulePlace place : places) {
    for (const std::string& prefix : prefixes_of(rules[place])) {
      const auto next = static_cast<std::uint32_t>(many->lists.size());
      const auto [list, is_new] = list_of.emplace(prefix, next);
      if (is_new) many->lists.emplace_back();
      many->lists[list->second].push_back(place);
    }
  }
  many->tree = PrefixTree({list_of.begin(), list_of.end()});
  many_ = std::move(many);
}

boost::container::small_vector<std::uint32_t, 16> PathIndex::lists_for(
    std::span<const std::string_view> paths) const {
  boost::container::small_vector<std::uint32_t, 16> found;
  for (const std::string_view path : paths) {
    many_->tree.for_each_prefix(path,
                                [&](std::uint32_t list, std::size_t) { found.push_back(list); });
  }
  if (paths.size() > 1) {
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
  }
  return found;
}

RulePlace HostRules::raw_at(std::uint16_t port) const {
  const auto at = std::lower_bound(raw.begin(), raw.end(), std::pair(port, RulePlace{0}));
  return at == raw.end() || at->first != port ? kNoRule : at->second;
}

RuleIndex::RuleIndex(const std::vector<Rule>& rules) {
  std::map<std::pair<std::string, HostPattern::Kind>, std::vector<RulePlace>> places_of;
  const auto add = [&](std::string key, HostPattern::Kind kind, RulePlace place) {
    auto& places = places_of[{std::move(key), kind}];
    if (places.empty() || places.back() != place) places.push_back(place);
  };
  const std::string host_service = host_key(HostName::parse(kHostServiceName).value());
  for (RulePlace place = 0; place < rules.size(); ++place) {
    for (const HostPattern& host : rules[place].hosts) {
      if (!is_host_service(host)) add(host.key(), host.kind(), place);
    }
    if (counts_for_host_service(rules[place])) add(host_service, HostPattern::Kind::exact, place);
  }
  std::vector<std::pair<std::string, std::uint32_t>> keys;
  for (const auto& [pattern, places] : places_of) {
    if (keys.empty() || keys.back().first != pattern.first) {
      keys.emplace_back(pattern.first, static_cast<std::uint32_t>(reaches_.size()));
      reaches_.emplace_back();
    }
    ByReach& reach = reaches_.back();
    std::uint32_t& at = pattern.second == HostPattern::Kind::exact   ? reach.exact
                        : pattern.second == HostPattern::Kind::below ? reach.below
                                                                     : reach.both;
    at = static_cast<std::uint32_t>(hosts_.size());
    hosts_.push_back(host_rules(rules, places));
  }
  keys_ = PrefixTree(std::move(keys));
}

RuleIndex::Found RuleIndex::at(const HostName& host) const {
  Found found;
  const std::string key = host_key(host);
  const bool by_name_alone = is_host_service(host);
  keys_.for_each_prefix(key, [&](std::uint32_t value, std::size_t covered) {
    const ByReach& reach = reaches_[value];
    const bool whole = covered == key.size();
    const std::uint32_t reached = whole ? reach.exact : reach.below;
    if (by_name_alone && !whole) return;
    if (reached != kNoRule) found.push_back(&hosts_[reached]);
    if (reach.both != kNoRule && !by_name_alone) found.push_back(&hosts_[reach.both]);
  });
  return found;
}

}  // namespace warder
