// A proxy's listener: whose sandbox comes in by it, what token proves that, and how the proxy proves itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "audit/burst.hpp"
#include "config/config.hpp"
#include "proxy/connection.hpp"
#include "proxy/tunnel_answer.hpp"
#include "secrets/live_value.hpp"

namespace warder {

// Immutable, shared by the listener's connections.
struct ProxyAccess {
  std::shared_ptr<Session> session;
  std::shared_ptr<const LiveValue> token;  // null: whoever reaches the listener is the sandbox
  std::optional<ListenerConfig::Tls> tls;
  mutable audit::Burst strangers{};

  // Takes as long for a wrong token as for the right one.
  bool takes(std::string_view offered) const;
  // Of the user and password of a URL either may be the token: "http://TOKEN@proxy", "http://x:TOKEN@proxy".
  bool takes(std::string_view user, std::string_view password) const;
  // The same of a Proxy-Authorization field, Basic or Bearer. Exactly one, unless no token is asked for.
  bool takes(const HeaderList& fields) const;
};

// A stranger until it shows the token, if one is asked for; and the proxy's own TLS, if its listener has one. False: there
// are too many strangers, or the handshake failed, which is recorded.
Task<bool> receive(Connection& connection, const ProxyAccess& access);

// May a tunnel to this host and port be opened: is there a rule by which anything could pass? An address says yes where
// the name within may still be one that is allowed. The connection then stands for it.
Verdict open_tunnel(Connection& connection, const HostName& host, std::uint16_t port);

// The tunnel that open_tunnel() allowed; what was read behind the request is its own.
Task<> serve_tunnel(Connection& connection, TunnelAnswer& asked);

}  // namespace warder
