// The way in of an HTTP proxy: CONNECT opens a tunnel, absolute form asks for one resource in clear text.
#pragma once

#include "proxy/ingress/proxy_access.hpp"

namespace warder {

// From accept to close.
Task<> serve_http_proxy(Worker& worker, Gateway& gateway, std::shared_ptr<const ProxyAccess> access,
                        tcp::socket socket);

}  // namespace warder
