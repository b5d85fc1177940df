// The way in of a SOCKS5 proxy: its CONNECT opens a tunnel to a name or an address; the password is the token.
#pragma once

#include "proxy/ingress/proxy_access.hpp"

namespace warder {

// From accept to close.
Task<> serve_socks_proxy(Worker& worker, Gateway& gateway,
                         std::shared_ptr<const ProxyAccess> access, tcp::socket socket);

}  // namespace warder
