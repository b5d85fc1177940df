// What `action: ask` adds to a policy: its bounds, and what may not happen before anybody was asked.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "http/authority.hpp"
#include "policy/rule.hpp"

namespace warder {

// How long a request waits for somebody's answer, and how many questions may be open in one session.
struct AskLimits {
  static constexpr std::chrono::milliseconds kShortest{1'000};
  static constexpr std::chrono::milliseconds kLongest{3'600'000};
  static constexpr std::size_t kMostPending = 256;

  std::chrono::milliseconds timeout{60'000};
  std::size_t pending = 32;
  bool operator==(const AskLimits&) const = default;
};

// Of an authority to which a connection is allowed: may it be looked up and dialled before a request on
// it was decided? Not where only `ask` rules reach it.
bool may_dial_unasked(const std::vector<Rule>& rules, const Authority& authority);

}  // namespace warder
