// A connection that a rule with action `tcp` or `tunnel` allows: recorded, dialled, and its bytes passed both ways
// unchanged. Nothing is inspected, therefore no secrets.
#pragma once

#include "proxy/connection.hpp"

namespace warder {

// From the verdict to the close. `verdict` is authorize_raw()'s on `authority`; one that refuses is recorded and told
// with a reset. Bytes that were read before go first.
Task<> serve_raw(Connection& connection, Authority authority, Verdict verdict);

}  // namespace warder
