// One client connection at the gateway, from accept to close.
#pragma once

#include <memory>

#include "http/h1_parser.hpp"
#include "proxy/gateway.hpp"
#include "proxy/input.hpp"
#include "proxy/judge.hpp"
#include "proxy/session.hpp"
#include "proxy/stream.hpp"
#include "proxy/upstream.hpp"

namespace warder {

struct Connection {
  Connection(Worker& on, Gateway& of, std::shared_ptr<Session> in, tcp::socket socket)
      : worker(on),
        gateway(of),
        session(std::move(in)),
        stream(on, std::move(socket)),
        parser(H1Parser::Role::request, of.limits.head) {
    ++session->connections;
  }
  ~Connection() { --session->connections; }
  Connection(const Connection&) = delete;

  Worker& worker;
  Gateway& gateway;
  std::shared_ptr<Session> session;
  Stream stream;
  Input input;
  H1Parser parser;
  Arrival arrival;
  std::string ingress = "transparent";
  std::unique_ptr<Upstream> upstream;  // kept for the next request to the same authority
};

enum class After : std::uint8_t { next_request, close };

// Reads requests and answers each, until the connection ends.
Task<> serve_requests(Connection& connection);

// One request, whose head stands in connection.parser: judged, recorded, swapped, sent, and its answer masked and
// relayed. (handle.cpp)
Task<After> handle(Connection& connection);

// Records a connection that was refused before any request: an intent with decision deny.
Task<bool> record_refused_connection(Connection& connection, std::string protocol, const Verdict& verdict,
                                     std::string authority);

// Answers are read by a client that is still sending: take what comes for a while, so that it sees no reset.
Task<> linger(Stream& stream, const GatewayLimits& limits);

}  // namespace warder
