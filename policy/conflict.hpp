// Rules that contradict each other on a host and port: what one would inspect, another passes on
// unseen.
#pragma once

#include <string>
#include <vector>

#include "policy/rule.hpp"

namespace warder {

// A sentence that names both rules and says the correction, for the first of `others` that `rule`
// contradicts; empty: none. Patterns that overlap count, whichever host they were written for.
std::string contradiction(const Rule& rule, const std::vector<Rule>& others);

// Could a host of the pattern be reached only where nothing is inspected? Then a grant for it can
// never be used: this is the name of a `tcp` or `tunnel` rule that has it; empty otherwise.
std::string only_raw_rule_for(const HostPattern& host, const std::vector<Rule>& rules);

}  // namespace warder
