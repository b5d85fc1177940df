// From an authority to a connected socket: resolve, vet each address, connect. A name never reaches connect(2).
#pragma once

#include "http/authority.hpp"
#include "policy/address_guard.hpp"
#include "proxy/gateway.hpp"
#include "proxy/race.hpp"

namespace warder {

// Every address is vetted at every dial, also when its name was resolved before. What is not allowed is passed over;
// of the rest the first kMaxAttempts are tried as a race.
// Ends with the session: after its end nothing is resolved or dialled any more.
Task<Dialled> dial(Worker& worker, Gateway& gateway, Authority authority, PrivateAddresses allowed,
                   const SessionLife& life);

}  // namespace warder
