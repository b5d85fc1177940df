// A request that a rule asks about, on its way from the question to the answer.
#pragma once

#include <optional>
#include <string>

#include "audit/record.hpp"
#include "proxy/approvals.hpp"
#include "proxy/exchange.hpp"

namespace warder {

// What a rule with `action: ask` waits for: a yes to this very request, or to its rule. Nothing is resolved, dialled,
// swapped or minted before. A policy that changes meanwhile refuses it.
Task<std::optional<Refusal>> await_approval(Exchange& exchange, const Judgement& judged);

// What the policy says of an approved request by now, beside what it said when it asked.
enum class Turn : std::uint8_t {
  same,     // the same rule asks
  free,     // nobody need be asked any more
  denied,   // whatever the answer is
  changed,  // another rule asks: what was shown is not what would be said yes to
};
Turn turn_of(const Verdict& asked, const Verdict& now);

// The record of an answer, but for the answer.
audit::Approval approval_of(const std::string& session, const Approvals::Asked& asked);

}  // namespace warder
