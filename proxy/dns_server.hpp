// The sandbox's resolver: answers from policy and synthetic addresses alone; no packet ever leaves.
#pragma once

#include <memory>

#include "base/fd.hpp"
#include "proxy/gateway.hpp"
#include "proxy/session.hpp"
#include "proxy/stream.hpp"

namespace warder {

// Answers one query packet; empty: send nothing. Each answer is recorded before it is given.
Task<std::string> answer_dns(std::string packet, Gateway& gateway, Session& session);

// Until the socket is closed (Worker::stop). The socket has IP_PKTINFO or IPV6_RECVPKTINFO: the answer
// comes from the address that was asked.
Task<> serve_dns_datagrams(Worker& worker, Fd socket, Gateway& gateway,
                           std::shared_ptr<Session> session);

// DNS over one TCP connection (RFC 7766): length-prefixed queries until the client closes.
Task<> serve_dns_stream(Stream& stream, Gateway& gateway, Session& session);

}  // namespace warder
