// A sandbox that speaks HTTP/2: many exchanges at once on its connection.
#pragma once

#include "proxy/connection.hpp"

namespace warder {

// Serves every stream, until the connection ends and the last exchange with it.
Task<> serve_h2(Connection& connection);

}  // namespace warder
