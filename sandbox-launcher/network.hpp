// The sandbox's network: a namespace that holds only `lo`, where every address is local and every TCP connection
// comes to our listeners (docs/architecture.md, "No exit but the gateway").
#pragma once

#include <sys/types.h>

#include "sandbox-launcher/spawn.hpp"

namespace warder {

// Moves this process into a user namespace of its own, mapped to itself, and a network namespace that it owns.
// Throws LaunchError that names the kernel feature and the remedy.
void enter_network_namespace(uid_t uid, gid_t gid);

// A user namespace as above, and with it the namespaces of `others` (CLONE_NEWNET, CLONE_NEWNS …; 0: none).
void enter_namespaces(int others, uid_t uid, gid_t gid);

// Inside it: lo up, 198.18.0.1, AnyIP routes, the redirect, and the listeners. Throws LaunchError.
SandboxListeners make_network();

}  // namespace warder
