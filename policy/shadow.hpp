// Rules that never decide anything, because of another one that matches whatever they could match.
// What is said to be shadowed is; what several rules shadow together is not found.
#pragma once

#include <cstddef>
#include <vector>

#include "policy/rule.hpp"

namespace warder {

// Does `wide` match every request, or connection, that `narrow` matches?
bool covers(const Rule& wide, const Rule& narrow);

struct Shadow {
  std::size_t rule;  // the number of the rule that never decides
  std::size_t by;    // of the first that is before it, or denies
};
// In the order of the rules. Of two denies of the same only the later one.
std::vector<Shadow> shadowed(const std::vector<Rule>& rules);

}  // namespace warder
