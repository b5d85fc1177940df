// The TCP ports on which Warder itself listens on this machine, whatever process and user it runs as: each is claimed
// by a socket with an abstract name, which the kernel lets go with the process and no sandbox's network sees.
#pragma once

#include <cstdint>

#include "base/fd.hpp"

namespace warder {

// Holds for as long as the descriptor is open. Empty: it could not be claimed.
Fd claim_port(std::uint16_t port);
// Of a listening TCP socket.
Fd claim_port_of(const Fd& listener);
// True also where that cannot be found out.
bool is_claimed(std::uint16_t port);

}  // namespace warder
