// One verified connection to an origin, before any word of HTTP on it.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "proxy/client_identity.hpp"
#include "proxy/dial.hpp"
#include "proxy/legs.hpp"
#include "proxy/tls_sessions.hpp"

namespace warder {

class OriginSlot;

// All that a connection was opened, vetted and verified for: it serves nothing else.
struct OriginKey {
  Authority authority;
  PrivateAddresses private_addresses =
      PrivateAddresses::refused;                     // what the rule that it is dialled for allows
  std::shared_ptr<const ClientIdentity> identity{};  // shown to an origin that asks; may be null

  std::string str() const;  // begins with the authority and a space
  friend bool operator==(const OriginKey&, const OriginKey&) = default;
};

struct Upstream {
  OriginKey key;
  std::unique_ptr<Stream> stream;
  UpstreamFacts facts;
  HttpVersion version = HttpVersion::http11;  // by ALPN
  std::shared_ptr<OriginSlot> slot;           // its place in its pool; goes before the stream
};

// Nothing of it goes on after the session's end. Resolves, dials and, for https, finishes a handshake that proves `key.authority.host`, resumed from `sessions` where
// they have one. `newest` is offered, and HTTP/1.1 always.
Task<std::variant<Upstream, DialFailure>> open_upstream(Worker& worker, Gateway& gateway,
                                                        OriginKey key, HttpVersion newest,
                                                        std::shared_ptr<TlsSessions> sessions,
                                                        const SessionLife& life);

}  // namespace warder
