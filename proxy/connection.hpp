// One client connection at the gateway, from accept to close.
#pragma once

#include <memory>

#include "http/h1_parser.hpp"
#include "proxy/gateway.hpp"
#include "proxy/input.hpp"
#include "proxy/judge.hpp"
#include "proxy/legs.hpp"
#include "proxy/origins.hpp"
#include "proxy/session.hpp"
#include "proxy/stream.hpp"

namespace warder {

struct Connection {
  Connection(Worker& on, Gateway& of, std::shared_ptr<Session> in, tcp::socket socket)
      : worker(on),
        gateway(of),
        session(std::move(in)),
        stream(on, std::move(socket)),
        parser(H1Parser::Role::request, of.limits.head),
        origins(on, of) {
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
  HttpVersion version = HttpVersion::http11;  // by ALPN
  Origins origins;  // connections to origins that this client's requests share
};

// A request's head, off the wire.
struct IncomingRequest {
  RequestHead head;
  Framing framing;
  HttpVersion version = HttpVersion::http11;
  bool keeps_alive = false;
};

// What becomes of the client's connection. linger: it may still be sending; let it see the answer.
enum class After : std::uint8_t { next_request, linger, close };

// Reads requests and answers each, until the connection ends.
Task<> serve_requests(Connection& connection);

// One request: judged, recorded, swapped, sent, and its answer masked and relayed. (handle.cpp)
Task<After> handle(Connection& connection, ClientLeg& client, IncomingRequest request);

// A request whose head cannot be read is recorded and answered all the same. (handle.cpp)
Task<> refuse_unread(Connection& connection, ClientLeg& client, Reason reason);

// Records a connection that was refused before any request: an intent with decision deny.
Task<bool> record_refused_connection(Connection& connection, std::string protocol,
                                     const Verdict& verdict, std::string authority);

// Answers are read by a client that is still sending: take what comes for a while, so that it sees no reset.
Task<> linger(Stream& stream, const GatewayLimits& limits);

}  // namespace warder
