// What every way in does once it knows who is meant: tells the protocol by port or first bytes, ends TLS, serves.
#pragma once

#include <string>

#include "proxy/connection.hpp"
#include "proxy/tunnel_answer.hpp"

namespace warder {

// `connection.arrival` has the port, and the name or the address. From the first byte to the last. `asked`: the client of
// a proxy that waits for its answer.
Task<> serve_arrival(Connection& connection, TunnelAnswer* asked = nullptr);

// The connection stands for this name, or for this address: for the name that the session's resolver gave it, or for
// itself. False: a synthetic address that nobody was given.
bool stand_for(Connection& connection, const HostName& host);

// "api.test:443", for records and messages.
std::string where_to(const Arrival& arrival);

// No byte of an answer would be understood: recorded, and closed with a reset.
Task<> refuse_silently(Connection& connection, Verdict verdict, std::string where);

}  // namespace warder
