#include "proxy/ingress/socks_proxy.hpp"

#include "http/socks5.hpp"

namespace warder {
namespace {

using socks5::Method;
using socks5::Outcome;
using socks5::Reply;

// One message of the client. nullopt: it is none, or did not come.
template <class Message>
Task<std::optional<Message>> read_message(
    Connection& connection, std::variant<Message, Outcome> (*read)(std::string_view&)) {
  for (;;) {
    std::string_view in = connection.input.view();
    auto message = read(in);
    if (auto* whole = std::get_if<Message>(&message)) {
      connection.input.keep(in);
      co_return std::move(*whole);
    }
    if (std::get<Outcome>(message) == Outcome::bad) co_return std::nullopt;
    auto filled = co_await connection.input.fill(connection.stream);
    if (!filled) co_return std::nullopt;
  }
}

Task<bool> send(Connection& connection, std::string bytes) {
  auto sent = co_await connection.stream.write_all(bytes);
  co_return static_cast<bool>(sent);
}

Task<> refuse_socks(Connection& connection, Verdict verdict, std::string where) {
  connection.session->denials.add(verdict.reason, "SOCKS connection to " + where,
                                  verdict.suggestion);
  const std::string authority = where.empty() ? "" : "tcp://" + where;
  (void)co_await record_refused_connection(connection, "socks5", verdict, authority);
  co_await linger(connection.stream, connection.gateway.limits);
}

Task<bool> log_in(Connection& connection, const ProxyAccess& access) {
  const auto greeting = co_await read_message<socks5::Greeting>(connection, socks5::read_greeting);
  if (!greeting) co_return false;
  Method method = Method::unacceptable;
  if (greeting->offers_password) method = Method::password;
  if (!access.token && greeting->offers_none) method = Method::none;
  std::string chosen = socks5::write_method(method);
  if (!co_await send(connection, std::move(chosen)) || method == Method::unacceptable)
    co_return false;
  if (method == Method::none) co_return true;
  auto login = co_await read_message<socks5::Login>(connection, socks5::read_login);
  if (!login) co_return false;
  const bool good = access.takes(login->user, login->password);
  wipe(login->user);
  wipe(login->password);
  const auto status = good ? socks5::LoginStatus::accepted : socks5::LoginStatus::refused;
  std::string said = socks5::write_login_status(status);
  co_return co_await send(connection, std::move(said)) && good;
}

Reply reply_to(const DialFailure& failure) {
  if (failure.was_refused) return Reply::connection_refused;
  switch (failure.reason) {
    case Reason::address_not_allowed: return Reply::not_allowed;
    case Reason::upstream_resolve_failed:
    case Reason::upstream_connect_failed:
    case Reason::upstream_timeout: return Reply::host_unreachable;
    default: return Reply::general_failure;
  }
}

class SocksAnswer final : public TunnelAnswer {
 public:
  explicit SocksAnswer(Connection& connection) : connection_(connection) {}

  Task<bool> open() override {
    std::string said = socks5::write_reply(Reply::succeeded);
    co_return co_await send(connection_, std::move(said));
  }
  Task<> refuse(Refusal refusal) override {
    const bool ours = refusal.reason == Reason::audit_unavailable;
    const Reply reply = ours ? Reply::general_failure : Reply::not_allowed;
    co_await end_with(reply);
  }
  Task<> unreachable(DialFailure failure) override { co_await end_with(reply_to(failure)); }

 private:
  Task<> end_with(Reply reply) {
    std::string said = socks5::write_reply(reply);
    (void)co_await send(connection_, std::move(said));
    co_await linger(connection_.stream, connection_.gateway.limits);
  }

  Connection& connection_;
};

Reply reply_to(const socks5::Request& request) {
  if (!request.known_type) return Reply::address_type_not_supported;
  if (!request.is_connect) return Reply::command_not_supported;
  if (!request.host || request.port == 0) return Reply::general_failure;
  return Reply::succeeded;
}

Task<> serve_request(Connection& connection, socks5::Request request) {
  Reply reply = reply_to(request);
  Verdict verdict;
  verdict.reason = Reason::malformed_request;
  std::string where;
  if (reply == Reply::succeeded) {
    where = request.host->uri_host() + ":" + std::to_string(request.port);
    verdict = open_tunnel(connection, *request.host, request.port);
    if (!verdict.allows()) reply = Reply::not_allowed;
  }
  if (reply != Reply::succeeded) {
    std::string said = socks5::write_reply(reply);
    (void)co_await send(connection, std::move(said));
    co_await refuse_socks(connection, std::move(verdict), std::move(where));
    co_return;
  }
  SocksAnswer asked(connection);
  co_await serve_tunnel(connection, asked);
}

}  // namespace

Task<> serve_socks_proxy(Worker& worker, Gateway& gateway,
                         std::shared_ptr<const ProxyAccess> access, tcp::socket socket) {
  Connection connection(worker, gateway, access->session, std::move(socket));
  connection.ingress = "socks5";
  if (!co_await receive(connection, *access)) co_return;
  connection.stream.end_reads_at(std::chrono::steady_clock::now() + gateway.limits.handshake);
  connection.stream.limit_writes(gateway.limits.handshake);
  Verdict verdict;
  if (!co_await log_in(connection, *access)) {
    verdict.reason = access->token ? Reason::not_authenticated : Reason::malformed_request;
    co_await refuse_socks(connection, std::move(verdict), "");
    co_return;
  }
  connection.admit();
  auto request = co_await read_message<socks5::Request>(connection, socks5::read_request);
  if (!request) {
    verdict.reason = Reason::malformed_request;
    co_await refuse_socks(connection, std::move(verdict), "");
    co_return;
  }
  co_await serve_request(connection, std::move(*request));
}

}  // namespace warder
