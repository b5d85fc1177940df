// Finds the few rules of thousands that could match: those that have the host, and of them those with
// a path that could. It only narrows: on all but the host rule_match.hpp has the say.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/prefix_tree.hpp"
#include "policy/rule.hpp"

namespace warder {

// A rule's number in its policy: the lower one stands first.
using RulePlace = std::uint32_t;
inline constexpr RulePlace kNoRule = ~RulePlace{0};

// Rules by what their paths begin with.
class PathIndex {
 public:
  PathIndex() = default;
  // The rules at `places`, which ascend.
  PathIndex(const std::vector<Rule>& rules, std::vector<RulePlace> places);

  bool empty() const { return few_.empty() && many_ == nullptr; }
  // Lowers `best` to the first rule before it that `fits` says yes to, of those that one of these
  // paths could match. All of them are asked where none fits, and none of them once for each path.
  template <class Fits>
  void find_first(std::span<const std::string_view> paths, RulePlace& best, Fits&& fits) const {
    if (many_ == nullptr) return find_in(few_, best, fits);
    for (const std::uint32_t list : lists_for(paths)) find_in(many_->lists[list], best, fits);
  }

 private:
  // Asking so many is quicker than finding out which.
  static constexpr std::size_t kFew = 4;
  struct Many {
    PrefixTree tree;
    std::vector<std::vector<RulePlace>> lists;
  };

  template <class Fits>
  static void find_in(const std::vector<RulePlace>& places, RulePlace& best, Fits& fits) {
    for (const RulePlace place : places) {
      if (place >= best) return;
      if (fits(place)) best = place;
    }
  }
  boost::container::small_vector<std::uint32_t, 16> lists_for(
      std::span<const std::string_view> paths) const;

  std::vector<RulePlace> few_;
  std::shared_ptr<const Many> many_;
};

// The rules that have one and the same host pattern.
struct HostRules {
  std::vector<RulePlace> blanket_denies;
  PathIndex denies;  // the others
  PathIndex allows;  // allow and ask
  // Of the rules that allow inspected requests, the first of each kind: ports and methods.
  std::vector<RulePlace> kinds;
  std::vector<std::pair<std::uint16_t, RulePlace>> raw;  // sorted
  bool allows_anything() const { return !kinds.empty() || !raw.empty(); }
  // The first tcp or tunnel rule with this port.
  RulePlace raw_at(std::uint16_t port) const;
};

class RuleIndex {
 public:
  RuleIndex() = default;
  explicit RuleIndex(const std::vector<Rule>& rules);

  using Found = boost::container::small_vector<const HostRules*, 8>;
  // Of each pattern that the host matches. They live as long as the index stays as it is.
  Found at(const HostName& host) const;

 private:
  struct ByReach {  // patterns with one key
    std::uint32_t exact = kNoRule;
    std::uint32_t below = kNoRule;
    std::uint32_t both = kNoRule;  // apex_and_below, range
  };
  PrefixTree keys_;
  std::vector<ByReach> reaches_;
  std::vector<HostRules> hosts_;
};

}  // namespace warder
