// A session's limits (policy/meter.hpp) on the data path: who may begin, and the wait before bytes go on.
#pragma once

#include <functional>

#include "policy/meter.hpp"
#include "proxy/exchange.hpp"

namespace warder {

Refusal refusal_of(const Exceeded& exceeded);

// Of the connection that it came on, before it is looked at.
std::optional<Refusal> refuse_connection(Exchange& exchange);
// One more exchange, allowed by the policy. It is counted until it ends, unless a limit stands in the way.
std::optional<Refusal> admit(Exchange& exchange);
// The same of a connection whose bytes are not looked at.
std::optional<Exceeded> admit_raw(const Connection& connection);

// These bytes are about to pass: waits until they may. A refusal: they must not, nor anything after them. The wait is over
// early where `is_over` says so; what comes of that is for others to see.
using IsOver = std::function<bool()>;
Task<std::optional<Refusal>> pay(Connection& connection, Meter::Way way, std::uint64_t bytes,
                                 IsOver is_over);
// The same for the body of an exchange.
Task<std::optional<Refusal>> pay(Exchange& exchange, Meter::Way way, std::uint64_t bytes);
// And for fields, which are bounded by themselves: they pass, and what comes next waits for them.
void charge(Exchange& exchange, Meter::Way way, const HeaderList& fields);

}  // namespace warder
