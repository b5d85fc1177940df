#include "cli/gateway_process.hpp"

#include <sched.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <thread>

#include "base/port_claim.hpp"
#include "proxy/acceptor.hpp"
#include "proxy/dns_server.hpp"
#include "proxy/ingress/http_proxy.hpp"
#include "proxy/ingress/socks_proxy.hpp"
#include "proxy/ingress/transparent.hpp"

namespace warder {
namespace {

constexpr unsigned kMaxWorkers = 4;
constexpr std::chrono::milliseconds kStopGrace{1'000};

// The machine may have more.
unsigned usable_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return std::thread::hardware_concurrency();
  return static_cast<unsigned>(CPU_COUNT(&allowed));
}

void spawn_on(Worker& worker, Task<> task) {
  auto held = std::make_shared<Task<>>(std::move(task));
  asio::post(worker.loop(), [&worker, held] { worker.spawn(std::move(*held)); });
}

Task<> serve_names(Worker& worker, tcp::socket socket, Gateway& gateway,
                   std::shared_ptr<Session> session) {
  const Session::Counted counted(session->connections);
  Stream stream(worker, std::move(socket));
  const EndsWithSession end(worker, &session->life, stream);
  co_await serve_dns_stream(stream, gateway, *session);
}

}  // namespace

GatewayProcess::GatewayProcess(const Config& config, audit::Log& audit, const Clock& clock)
    : authority_(clock),
      leaves_(authority_),
      upstream_tls_(config.gateway.upstream.ca),
      resolver_(config.gateway.upstream.resolvers),
      gateway_{config.gateway.upstream, audit,     leaves_, sandbox_tls_,
               upstream_tls_,           resolver_, {}} {}

GatewayProcess::~GatewayProcess() { stop(); }

void GatewayProcess::start() {
  const unsigned count = std::clamp(usable_processors(), 1U, kMaxWorkers);
  for (unsigned i = 0; i < count; ++i) workers_.push_back(std::make_unique<Worker>());
  for (auto& worker : workers_) worker->start();
}

void GatewayProcess::accept(Fd listener, const std::shared_ptr<Session>& session, Serve serve) {
  if (!listener) return;
  Worker& home = *workers_.front();
  spawn_on(home,
           accept_on(home, std::move(listener), workers_, session, gateway_, std::move(serve)));
}

void GatewayProcess::serve_sandbox(std::shared_ptr<Session> session, SandboxListeners listeners) {
  sessions_.add(session);
  ++gateway_.files.sessions;
  const std::uint16_t port = listeners.port;
  const Serve transparent = [this, session, port](Worker& worker, tcp::socket socket) {
    return serve_transparent(worker, gateway_, session, std::move(socket), port);
  };
  const Serve names = [this, session](Worker& worker, tcp::socket socket) {
    return serve_names(worker, std::move(socket), gateway_, session);
  };
  accept(std::move(listeners.tcp4), session, transparent);
  accept(std::move(listeners.tcp6), session, transparent);
  accept(std::move(listeners.dns_tcp4), session, names);
  accept(std::move(listeners.dns_tcp6), session, names);
  Worker& home = *workers_.front();
  for (Fd* socket : {&listeners.dns_udp4, &listeners.dns_udp6}) {
    if (*socket) spawn_on(home, serve_dns_datagrams(home, std::move(*socket), gateway_, session));
  }
}

void GatewayProcess::serve_proxy(std::shared_ptr<const ProxyAccess> access,
                                 ListenerConfig::Kind kind, Fd listener) {
  sessions_.add(access->session);
  ++gateway_.files.sessions;
  // No sandbox of any gateway reaches it as a service of this machine, for as long as it accepts.
  const auto claim = std::make_shared<const Fd>(claim_port_of(listener));
  Serve serve = [this, access, kind, claim](Worker& worker, tcp::socket socket) {
    return kind == ListenerConfig::Kind::connect
               ? serve_http_proxy(worker, gateway_, access, std::move(socket))
               : serve_socks_proxy(worker, gateway_, access, std::move(socket));
  };
  accept(std::move(listener), access->session, std::move(serve));
}

void GatewayProcess::end_session(Session& session, std::chrono::milliseconds limit) {
  session.life = Life::ended;
  for (auto& worker : workers_) worker->sweep_soon();
  const auto end = std::chrono::steady_clock::now() + limit;
  const auto is_over = [&] { return session.connections == 0 && session.listening == 0; };
  while (!is_over() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  sessions_.remove(session.id);
  --gateway_.files.sessions;
}

void GatewayProcess::drain() {
  draining_ = true;
  advance(Life::draining);
}

void GatewayProcess::take_leave() { advance(Life::leaving); }

void GatewayProcess::advance(Life to) {
  for (const auto& session : sessions_.list()) {
    Life now = session->life;
    while (now < to && !session->life.compare_exchange_weak(now, to)) {
    }
  }
}

std::uint64_t GatewayProcess::connections() const {
  std::uint64_t open = 0;
  for (const auto& session : sessions_.list()) open += session->connections;
  return open;
}

void GatewayProcess::stop() {
  for (auto& worker : workers_) worker->stop(kStopGrace);
}

}  // namespace warder
