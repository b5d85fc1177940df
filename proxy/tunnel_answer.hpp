// How a client that asked a proxy for a tunnel (CONNECT, SOCKS) hears what became of it.
#pragma once

#include "proxy/race.hpp"
#include "proxy/refusal.hpp"

namespace warder {

// One of the three is called, once, and before a byte of the tunnel passes. What is refused has been recorded before.
class TunnelAnswer {
 public:
  virtual ~TunnelAnswer() = default;
  // False: the client is gone.
  virtual Task<bool> open() = 0;
  // The connection is of no further use after these two.
  virtual Task<> refuse(Refusal refusal) = 0;
  virtual Task<> unreachable(DialFailure failure) = 0;
};

}  // namespace warder
