#include "policy/shadow.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "http/chars.hpp"
#include "policy/pattern_cover.hpp"
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

bool covers_ports(const Rule& wide, const Rule& narrow) {
  const auto ports_of = [](const Rule& rule) {
    const bool usual = rule.ports.empty() && rule.action != Action::deny;
    return usual ? std::vector<std::uint16_t>{80, 443} : rule.ports;
  };
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

// Rules by their hosts' keys: what covers a host has a key that its key begins with.
class ByHost {
 public:
  explicit ByHost(const std::vector<Rule>& rules) {
    for (std::size_t place = 0; place < rules.size(); ++place) {
      for (const HostPattern& host : rules[place].hosts) places_[host.key()].push_back(place);
    }
  }
  template <class Visit>
  void visit_wider(const HostPattern& host, Visit visit) const {
    const std::string key = host.key();
    for (std::size_t length = 1; length <= key.size(); ++length) {
      const auto found = places_.find(std::string_view(key).substr(0, length));
      if (found == places_.end()) continue;
      for (const std::size_t place : found->second) visit(place);
    }
  }

 private:
  std::map<std::string, std::vector<std::size_t>, std::less<>> places_;
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
  const ByHost by_host(rules);
  std::vector<Shadow> out;
  for (std::size_t place = 0; place < rules.size(); ++place) {
    const Rule& rule = rules[place];
    if (rule.hosts.empty()) continue;
    std::optional<std::size_t> first;
    by_host.visit_wider(rule.hosts.front(), [&](std::size_t by) {
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
