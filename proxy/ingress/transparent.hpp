// The transparent way in: a connection that the sandbox made to anywhere, redirected to a listener whose socket
// came from that sandbox's own network namespace. The listener is the identity.
#pragma once

#include <memory>

#include "proxy/connection.hpp"

namespace warder {

// From accept to close. `listener_port` is the listener's own: a connection made to it directly is refused.
Task<> serve_transparent(Worker& worker, Gateway& gateway, std::shared_ptr<Session> session,
                         tcp::socket socket, std::uint16_t listener_port);

}  // namespace warder
