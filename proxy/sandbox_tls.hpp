// Ends a sandbox's TLS: decides on the name between the client's hello and our answer, and stands for it with a leaf.
#pragma once

#include <string>

#include "proxy/connection.hpp"

namespace warder {

// Finishes the handshake and settles connection.arrival (bound name; `refused` when the answer to every request is a
// refusal that HTTP can tell). False: the handshake failed or was refused, which is recorded.
Task<bool> accept_tls(Connection& connection, std::string where);

}  // namespace warder
