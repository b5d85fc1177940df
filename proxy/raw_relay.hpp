// A connection that a rule with action `tcp` or `tunnel` allows: recorded, dialled, and its bytes passed both ways
// unchanged. Nothing is inspected, therefore no secrets.
#pragma once

#include "proxy/connection.hpp"
#include "proxy/tunnel_answer.hpp"

namespace warder {

// From the verdict to the close. `verdict` is authorize_raw()'s on `authority`; one that refuses is recorded. Bytes that
// were read before go first. `asked`: a proxy's client waits for its answer, which is given when the origin is reached;
// null: nobody waits for a word, and what cannot be had is a reset.
Task<> serve_raw(Connection& connection, Authority authority, Verdict verdict, TunnelAnswer* asked);

}  // namespace warder
