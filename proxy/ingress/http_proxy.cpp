#include "proxy/ingress/http_proxy.hpp"

#include "proxy/h1_client.hpp"

namespace warder {
namespace {

constexpr int kMostGuesses = 3;  // of a token, on one connection

// Host and port of a CONNECT. nullopt: malformed, or Host names another.
std::optional<HostPort> tunnel_target(const RequestHead& head) {
  auto target = parse_target(head.method, head.target);
  if (!target || !target->host_port || !target->host_port->port) return std::nullopt;
  if (head.fields.count("host") > 1) return std::nullopt;
  if (const HeaderField* field = head.fields.find("host")) {
    auto named = parse_host_port(field->value);
    if (!named || named->host != target->host_port->host) return std::nullopt;
    if (named->port && named->port != target->host_port->port) return std::nullopt;
  }
  return std::move(*target->host_port);
}

std::string target_for_record(const RequestHead& head) {
  const auto target = tunnel_target(head);
  if (head.method != "CONNECT" || !target) return "";
  return "tcp://" + target->host.uri_host() + ":" + std::to_string(*target->port);
}

Task<bool> answer(Connection& connection, const RequestHead& head, Refusal refusal,
                  Persist persist) {
  H1Client client(connection);
  const HttpVersion version = head.minor == 0 ? HttpVersion::http10 : HttpVersion::http11;
  connection.stream.limit_writes(connection.gateway.limits.linger);
  co_return co_await answer_refusal(client, refusal, head, version, persist);
}

// Recorded, and told to the client: its connection may go on where no body stands in the way.
Task<bool> refuse_on_proxy(Connection& connection, const IncomingRequest& request, Verdict verdict,
                           std::string detail, Persist persist) {
  std::string protocol(to_string(request.version));
  std::string target = target_for_record(request.head);
  connection.session->denials.add(
      verdict.reason, request.head.method + " " + (target.empty() ? "by the proxy" : target),
      verdict.suggestion);
  if (!co_await record_refused_connection(connection, std::move(protocol), verdict,
                                          std::move(target))) {
    co_return false;
  }
  Refusal refusal{verdict.reason, std::move(detail), verdict.rule, verdict.suggestion,
                  verdict.where};
  co_return co_await answer(connection, request.head, std::move(refusal), persist);
}

Task<bool> ask_for_token(Connection& connection, const IncomingRequest& request) {
  const bool stays = request.keeps_alive && request.framing.kind == Framing::Kind::none;
  Refusal refusal;
  refusal.reason = Reason::not_authenticated;
  refusal.detail = "send the session's token as the password of Proxy-Authorization";
  std::string target = target_for_record(request.head);
  std::string protocol(to_string(request.version));
  Verdict verdict;
  verdict.reason = refusal.reason;
  connection.session->denials.add(refusal.reason, "a client of the proxy", "");
  if (!co_await record_refused_connection(connection, std::move(protocol), verdict,
                                          std::move(target))) {
    co_return false;
  }
  const Persist persist = stays ? Persist::keep_alive : Persist::close;
  const bool sent = co_await answer(connection, request.head, std::move(refusal), persist);
  co_return sent&& stays;
}

class ConnectAnswer final : public TunnelAnswer {
 public:
  ConnectAnswer(Connection& connection, const RequestHead& head)
      : connection_(connection), head_(head) {}

  // RFC 9110 section 9.3.6: the answer has neither length nor coding.
  Task<bool> open() override {
    connection_.stream.limit_writes(connection_.gateway.limits.handshake);
    auto sent =
        co_await connection_.stream.write_all("HTTP/1.1 200 Connection established\r\n\r\n");
    co_return static_cast<bool>(sent);
  }
  Task<> refuse(Refusal refusal) override {
    (void)co_await answer(connection_, head_, std::move(refusal), Persist::close);
    co_await linger(connection_.stream, connection_.gateway.limits);
  }
  Task<> unreachable(DialFailure failure) override {
    Refusal refusal;
    refusal.reason = failure.reason;
    refusal.detail = std::move(failure.detail);
    co_await refuse(std::move(refusal));
  }

 private:
  Connection& connection_;
  const RequestHead& head_;
};

Task<> connect(Connection& connection, IncomingRequest request) {
  const auto target = tunnel_target(request.head);
  Verdict verdict;
  verdict.reason = Reason::malformed_request;
  std::string detail = "CONNECT names a host and a port, and Host the same";
  if (target) {
    verdict = open_tunnel(connection, target->host, *target->port);
    detail.clear();
  }
  if (!verdict.allows()) {
    (void)co_await refuse_on_proxy(connection, request, std::move(verdict), std::move(detail),
                                   Persist::close);
    co_await linger(connection.stream, connection.gateway.limits);
    co_return;
  }
  ConnectAnswer asked(connection, request.head);
  co_await serve_tunnel(connection, asked);
}

// A whole URL: asked for like any request, by a client that keeps its connection for others.
Task<bool> forward(Connection& connection, IncomingRequest request) {
  connection.ingress = "absolute";
  connection.count();
  H1Client client(connection);
  const After after = co_await handle(connection, client, std::move(request));
  if (after == After::linger) co_await linger(connection.stream, connection.gateway.limits);
  co_return after == After::next_request;
}

}  // namespace

Task<> serve_http_proxy(Worker& worker, Gateway& gateway, std::shared_ptr<const ProxyAccess> access,
                        tcp::socket socket) {
  Connection connection(worker, gateway, access->session, std::move(socket));
  connection.ingress = "connect";
  if (!co_await receive(connection, *access)) co_return;
  for (int guesses = 0;;) {
    connection.arrival.forwards = true;
    connection.ingress = "connect";
    auto request = co_await next_request(connection);
    if (!request) co_return;
    if (!access->takes(request->head.fields)) {
      if (co_await ask_for_token(connection, *request) && ++guesses < kMostGuesses) continue;
      co_await linger(connection.stream, gateway.limits);
      co_return;
    }
    connection.admit();
    request->head.fields.remove("proxy-authorization");
    if (request->head.method == "CONNECT") {
      co_await connect(connection, std::move(*request));
      co_return;
    }
    if (!co_await forward(connection, std::move(*request))) co_return;
  }
}

}  // namespace warder
