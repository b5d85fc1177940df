// Why a policy decides a request as it does: the rule that decides, those that nearly match, and
// those that match as well and are not asked. For people; nothing on the data path uses it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "policy/policy.hpp"

namespace warder {

// What a rule asks of a request.
enum class Part : std::uint8_t {
  host,
  port,
  scheme,  // clear text, TLS, or raw: of a port that the rule has
  method,
  path,
  query,
  headers,
  body,
};
std::string_view to_string(Part part);

struct NearMiss {
  const Rule* rule;
  std::vector<Part> lacks;  // never empty
};

// Rules are borrowed from the policy.
struct Explanation {
  Verdict verdict;
  const Rule* deciding = nullptr;
  // The nearest first, and among equals in the order of the policy.
  std::vector<NearMiss> near;
  std::size_t more_near = 0;  // that are not listed
  // They match too, but a deny wins, and else the first match: in the order of the policy.
  std::vector<const Rule*> overruled;
};

inline constexpr std::size_t kMaxNear = 8;

// What becomes of a request with this verdict, whichever rule it is of.
Action outcome_of(const Verdict& verdict);

// What the gateway does with it: where a `tcp` or `tunnel` rule has the host and port that is decided
// before the request is read, else it is Policy::authorize that decides.
Verdict decide(const Policy& policy, const RequestFacts& request);
Explanation explain(const Policy& policy, const RequestFacts& request);

}  // namespace warder
