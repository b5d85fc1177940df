#include "policy/shadow.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "policy/pattern_cover.hpp"
#include "policy/prefix_tree.hpp"
#include "policy/rule_match.hpp"

namespace warder {
namespace {

// Is each of `narrow` covered by one of `wide`?
template <class List, class Covers>
bool each_in(const List& wide, const List& narrow, Covers covers_one) {
  return std::all_of(narrow.begin(), narrow.end(), [&](const auto& inner) {
    return std::any_of(wide.begin(), wide.end(),
                       [&](const auto& outer) { return covers_one(outer, inner); });
  });
}

template <class T>
constexpr auto kSame = [](const T& a, const T& b) { return a == b; };

bool covers_hosts(const Rule& wide, const Rule& narrow) {
  return each_in(wide.hosts, narrow.hosts,
                 [](const HostPattern& a, const HostPattern& b) { return covers(a, b); });
}

constexpr std::array<std::uint16_t, 2> kUsualPorts{80, 443};

std::span<const std::uint16_t> ports_of(const Rule& rule) {
  if (rule.ports.empty() && rule.action != Action::deny) return kUsualPorts;
  return rule.ports;
}

bool covers_ports(const Rule& wide, const Rule& narrow) {
  const auto outer = ports_of(wide);
  const auto inner = ports_of(narrow);
  if (outer.empty()) return true;  // a deny of every port
  return !inner.empty() && each_in(outer, inner, kSame<std::uint16_t>);
}

bool covers_methods(const Rule& wide, const Rule& narrow) {
  if (wide.methods.empty()) return true;
  return !narrow.methods.empty() && each_in(wide.methods, narrow.methods, kSame<std::string>);
}

bool covers_paths(const Rule& wide, const Rule& narrow) {
  if (wide.paths.empty()) return true;
  const bool both_deny = narrow.action == Action::deny;
  const auto covers_one = [&](const PathPattern& a, const PathPattern& b) {
    // A deny reads its pattern's escapes in several ways.
    if (both_deny && b.str().find('%') != std::string::npos) return a.is_any() || a == b;
    return covers(a, b);
  };
  if (!narrow.paths.empty()) return each_in(wide.paths, narrow.paths, covers_one);
  return std::any_of(wide.paths.begin(), wide.paths.end(),
                     [](const PathPattern& path) { return path.is_any(); });
}

bool covers_query(const Rule& wide, const Rule& narrow) {
  if (wide.query.empty()) return true;
  // What allows takes a request without any key as well, which no deny of keys matches.
  if (is_inspected(narrow.action) != is_inspected(wide.action)) return false;
  return !narrow.query.empty() && each_in(wide.query, narrow.query, kSame<QueryKey>);
}

// Has `field` every value of `other`, which is of the same name?
bool has_values(const FieldMatch& field, const FieldMatch& other) {
  return each_in(field.values(), other.values(), [](const ValuePattern& a, const ValuePattern& b) {
    return a == b || a.str() == "*";
  });
}

bool covers_headers(const Rule& wide, const Rule& narrow) {
  if (wide.headers.empty()) return true;
  if (narrow.headers.empty() || is_inspected(narrow.action) != is_inspected(wide.action))
    return false;
  const auto same_with_values = [](const FieldMatch& outer, const FieldMatch& inner) {
    return outer.name() == inner.name() && has_values(outer, inner);
  };
  // What allows asks for all of its fields, what denies for any.
  if (!is_inspected(wide.action)) return each_in(wide.headers, narrow.headers, same_with_values);
  return each_in(narrow.headers, wide.headers,
                 [&](const FieldMatch& a, const FieldMatch& b) { return same_with_values(b, a); });
}

bool covers_body(const Rule& wide, const Rule& narrow) {
  if (wide.action == Action::deny || !wide.max_body) return true;
  return narrow.max_body && *narrow.max_body <= *wide.max_body;
}

// Finds the few rules of thousands that could cover one. What covers a host has a key that its key
// begins with (host_key.hpp), and what covers a path pattern begins as that does.
class Wider {
 public:
  explicit Wider(const std::vector<Rule>& rules) {
    std::map<std::string, std::map<std::string, std::vector<std::size_t>>> places;
    for (std::size_t place = 0; place < rules.size(); ++place) {
      const auto prefixes = prefixes_of(rules[place]);
      for (const HostPattern& host : rules[place].hosts) {
        auto& of_host = places[host.key()];
        for (const std::string& prefix : prefixes) of_host[prefix].push_back(place);
      }
    }
    for (auto& [key, by_path] : places) {
      std::vector<std::pair<std::string, std::uint32_t>> texts;
      for (auto& [prefix, list] : by_path) {
        texts.emplace_back(prefix, static_cast<std::uint32_t>(lists_.size()));
        lists_.push_back(std::move(list));
      }
      by_host_.emplace(key, PrefixTree(std::move(texts)));
    }
  }

  template <class Visit>
  void visit(const Rule& narrow, Visit visit_place) const {
    const std::string key = narrow.hosts.front().key();
    const std::string_view path =
        narrow.paths.empty() ? std::string_view() : narrow.paths.front().str();
    for (std::size_t length = 1; length <= key.size(); ++length) {
      const auto found = by_host_.find(std::string_view(key).substr(0, length));
      if (found == by_host_.end()) continue;
      found->second.for_each_prefix(path, [&](std::uint32_t list, std::size_t) {
        for (const std::size_t place : lists_[list]) visit_place(place);
      });
    }
  }

 private:
  static std::set<std::string> prefixes_of(const Rule& rule) {
    if (rule.paths.empty()) return {""};
    std::set<std::string> out;
    for (const PathPattern& path : rule.paths) out.insert(path.prefix());
    return out;
  }

  std::map<std::string, PrefixTree, std::less<>> by_host_;
  std::vector<std::vector<std::size_t>> lists_;
};

// Does the rule at `by` decide, or refuse, before the one at `place` would?
bool is_asked_first(const std::vector<Rule>& rules, std::size_t by, std::size_t place) {
  if (by == place) return false;
  if (rules[by].action == Action::deny) return true;
  return by < place && rules[place].action != Action::deny;
}

}  // namespace

bool covers(const Rule& wide, const Rule& narrow) {
  if (is_raw(narrow.action)) {
    // Decided by host and port alone, so only what does so, too, is in its way.
    if (!is_raw(wide.action) && !is_blanket_deny(wide)) return false;
    return covers_ports(wide, narrow) && covers_hosts(wide, narrow);
  }
  if (is_raw(wide.action)) return false;
  if (narrow.action == Action::deny && wide.action != Action::deny) return false;
  return covers_ports(wide, narrow) && covers_methods(wide, narrow) && covers_body(wide, narrow) &&
         covers_query(wide, narrow) && covers_headers(wide, narrow) && covers_hosts(wide, narrow) &&
         covers_paths(wide, narrow);
}

std::vector<Shadow> shadowed(const std::vector<Rule>& rules) {
  const Wider wider(rules);
  std::vector<Shadow> out;
  for (std::size_t place = 0; place < rules.size(); ++place) {
    const Rule& rule = rules[place];
    if (rule.hosts.empty()) continue;
    std::optional<std::size_t> first;
    wider.visit(rule, [&](std::size_t by) {
      if ((first && *first <= by) || !is_asked_first(rules, by, place)) return;
      if (!covers(rules[by], rule)) return;
      // Two denies of the same: the earlier one is what refuses.
      const bool is_twin = by > place && rule.action == Action::deny && covers(rule, rules[by]);
      if (!is_twin) first = by;
    });
    if (first) out.push_back({place, *first});
  }
  return out;
}

}  // namespace warder
