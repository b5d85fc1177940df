// The `tests:` of a policy: what it is meant to say of requests. `warder check` asks it; at run time
// they are nothing.
#pragma once

#include <string>
#include <vector>

#include "base/reason.hpp"
#include "policy/policy.hpp"
#include "policy/rule.hpp"
#include "policy/supposed_request.hpp"

namespace warder {

struct PolicyTest {
  SupposedRequest question;
  Action expect = Action::deny;  // tunnel and tcp: passed on uninspected
  std::string rule{};            // that must decide; empty: any, or none
  Reason reason = Reason::none;  // of the refusal; none: any
  std::string where{};           // file:line
};

// Empty: it holds. Else a sentence with what was expected, what came, and the rule that decided.
std::string failure_of(const PolicyTest& test, const Policy& policy);

}  // namespace warder
