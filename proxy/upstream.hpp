// One verified connection to an origin, before any word of HTTP on it.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "proxy/dial.hpp"
#include "proxy/legs.hpp"

namespace warder {

struct Upstream {
  Authority authority;
  PrivateAddresses private_addresses =
      PrivateAddresses::refused;  // what the rule that it was dialled for allowed
  std::unique_ptr<Stream> stream;
  UpstreamFacts facts;
  HttpVersion version = HttpVersion::http11;  // by ALPN
};

// Resolves, dials and, for https, finishes a handshake that proves `authority.host`. `newest` is offered, and
// HTTP/1.1 always.
Task<std::variant<Upstream, DialFailure>> open_upstream(Worker& worker, Gateway& gateway,
                                                        Authority authority,
                                                        PrivateAddresses allowed,
                                                        HttpVersion newest);

}  // namespace warder
