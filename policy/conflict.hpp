// Rules that contradict each other on a host and port: what one would inspect, another passes on
// unseen.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "policy/rule.hpp"

namespace warder {

struct Contradiction {
  std::size_t rule;      // the number of the later one
  std::string sentence;  // names both, and says the correction
};
// The first rule that contradicts one before it. Patterns that overlap count, whichever host they
// were written for. Quick also with thousands of rules.
std::optional<Contradiction> first_contradiction(const std::vector<Rule>& rules);

// The sentence for the first of `others` that `rule` contradicts; empty: none.
std::string contradiction(const Rule& rule, const std::vector<Rule>& others);

// Could a host of the pattern be reached only where nothing is inspected? Then a grant for it can
// never be used: this is the name of a `tcp` or `tunnel` rule that has it; empty otherwise.
std::string only_raw_rule_for(const HostPattern& host, const std::vector<Rule>& rules);

}  // namespace warder
