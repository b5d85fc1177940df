// Listening sockets of the daemon.
#pragma once

#include <filesystem>

#include "base/fd.hpp"
#include "http/authority.hpp"

namespace warder {

// Throws ConfigError that begins with `where` and says why: the port is taken, the address is not this host's.
Fd listen_on(const HostName& address, std::uint16_t port, const std::string& where);

}  // namespace warder
