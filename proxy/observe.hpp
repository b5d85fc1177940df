// Observe mode, a decorator on the policy's verdicts: what no rule allows passes all the same, and is recorded as that.
// Never what a deny rule refuses, what no rule could allow, or anything that is refused for another reason; and what
// passes so is inspected HTTP that never reaches a private address.
#pragma once

#include <string_view>

#include "policy/policy.hpp"

namespace warder {

struct Judgement;

Verdict observed_connection(const Policy& policy, const Authority& authority);
Verdict observed_name(const Policy& policy, const HostName& name);
// Of a request that is under way, what is said of it now.
Verdict observed_request(Verdict verdict, const Policy& policy, const Authority& authority);
void observe(Judgement& judged, std::string_view method, const Policy& policy);

// Did it pass though no rule allows it? Its reason says why it would have been refused.
inline bool is_observed(const Verdict& verdict) {
  return verdict.allows() && verdict.rule.empty() && verdict.reason != Reason::none;
}

}  // namespace warder
