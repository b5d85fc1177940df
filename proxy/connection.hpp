// One client connection at the gateway, from accept to close.
#pragma once

#include <functional>
#include <memory>

#include "audit/burst.hpp"
#include "http/h1_parser.hpp"
#include "proxy/gateway.hpp"
#include "proxy/input.hpp"
#include "proxy/judge.hpp"
#include "proxy/legs.hpp"
#include "proxy/origins.hpp"
#include "proxy/refusal.hpp"
#include "proxy/session.hpp"
#include "proxy/stream.hpp"

namespace warder {

struct Connection final : Swept {
  Connection(Worker& on, Gateway& of, std::shared_ptr<Session> in, tcp::socket socket)
      : worker(on),
        gateway(of),
        session(std::move(in)),
        stream(on, std::move(socket)),
        parser(H1Parser::Role::request, of.limits.head),
        origins(on, of, session),
        place(on.enlist(*this)) {
    ++session->connections;
  }
  ~Connection() override {
    worker.delist(place);
    if (was_counted && !exceeded) session->meter.close_connection();
    --(strangers == nullptr ? session->connections : session->strangers);
  }
  Connection(const Connection&) = delete;
  // Leaves when its session has ended, or drains and no request is under way; a stranger in a crowd, soon.
  void on_sweep(SteadyTime now) override;
  void close() override { stream.close(); }
  // Who it is must be shown first: until then it counts apart, has less time, and what is refused is recorded
  // together with others of its kind. False: there are too many of them.
  bool meet(audit::Burst& kind);
  void admit();
  // Among those of its session's limits, once: at its first request, or the tunnel that it asks for. (metering.cpp)
  void count();

  Worker& worker;
  Gateway& gateway;
  std::shared_ptr<Session> session;
  Stream stream;
  Input input;
  H1Parser parser;
  Arrival arrival;
  std::string ingress = "transparent";
  HttpVersion version = HttpVersion::http11;  // by ALPN
  Origins origins;                            // connections to origins, which its session shares
  const SteadyTime began = std::chrono::steady_clock::now();
  bool was_counted = false;
  std::optional<Exceeded> exceeded;                       // a limit: it is there to be told so
  const bool began_in_quarantine = session->quarantined;  // it is there to be told so
  std::uint64_t policy_seen = session->policy.changes();
  audit::Burst* strangers = nullptr;  // while it is one
  bool is_idle = false;               // between two requests of HTTP/1.x
  std::function<void()> say_goodbye;  // HTTP/2: opens no more streams; may be said more than once
  Worker::Place place;                // last: it may be closed at once
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

// HTTP/1.x: the next head. nullopt: there is none, which was answered and recorded where it could be; close.
Task<std::optional<IncomingRequest>> next_request(Connection& connection);

// One request: judged, recorded, swapped, sent, and its answer masked and relayed. (handle.cpp)
Task<After> handle(Connection& connection, ClientLeg& client, IncomingRequest request);

// A request whose head cannot be read is recorded and answered all the same. (handle.cpp)
Task<> refuse_unread(Connection& connection, ClientLeg& client, Reason reason);

// The refusal as an answer in the client's own version of HTTP. False: the client is gone. (handle.cpp)
Task<bool> answer_refusal(ClientLeg& client, const Refusal& refusal, const RequestHead& request,
                          HttpVersion version, Persist persist);

// Records a connection that was refused before any request: an intent with decision deny.
Task<bool> record_refused_connection(Connection& connection, std::string protocol,
                                     const Verdict& verdict, std::string authority);

// Answers are read by a client that is still sending: take what comes for a while, so that it sees no reset.
Task<> linger(Stream& stream, const GatewayLimits& limits);

}  // namespace warder
