#include "cli/embedded_gateway.hpp"

#include <boost/asio/post.hpp>
#include <thread>

#include "proxy/acceptor.hpp"
#include "proxy/dns_server.hpp"
#include "proxy/ingress/transparent.hpp"

namespace warder {
namespace {

constexpr unsigned kMaxWorkers = 4;  // one sandbox has no use for more
constexpr std::chrono::milliseconds kStopGrace{1'000};

void spawn_on(Worker& worker, Task<> task) {
  auto held = std::make_shared<Task<>>(std::move(task));
  asio::post(worker.loop(), [&worker, held] { worker.spawn(std::move(*held)); });
}

Task<> serve_names(Worker& worker, tcp::socket socket, Gateway& gateway,
                   std::shared_ptr<Session> session) {
  const Session::Counted counted(*session);
  Stream stream(worker, std::move(socket));
  co_await serve_dns_stream(stream, gateway, *session);
}

}  // namespace

EmbeddedGateway::EmbeddedGateway(const Config& config, audit::Log& audit, const Clock& clock)
    : authority_(clock),
      leaves_(authority_),
      upstream_tls_(config.gateway.upstream.ca),
      gateway_{config.gateway.upstream, audit,     leaves_, sandbox_tls_,
               upstream_tls_,           resolver_, {}} {}

EmbeddedGateway::~EmbeddedGateway() { stop(); }

void EmbeddedGateway::start(std::shared_ptr<Session> session, SandboxListeners listeners) {
  const unsigned count = std::clamp(std::thread::hardware_concurrency(), 1U, kMaxWorkers);
  for (unsigned i = 0; i < count; ++i) workers_.push_back(std::make_unique<Worker>());
  Worker& home = *workers_.front();
  const std::uint64_t limit = gateway_.limits.connections_per_session;
  const std::uint16_t port = listeners.port;
  const Serve transparent = [this, session, port](Worker& worker, tcp::socket socket) {
    return serve_transparent(worker, gateway_, session, std::move(socket), port);
  };
  const Serve names = [this, session](Worker& worker, tcp::socket socket) {
    return serve_names(worker, std::move(socket), gateway_, session);
  };
  const auto serve = [&](Fd& listener, const Serve& how) {
    if (!listener) return;
    spawn_on(home, accept_on(home, std::move(listener), workers_, session, limit, how));
  };
  serve(listeners.tcp4, transparent);
  serve(listeners.tcp6, transparent);
  serve(listeners.dns_tcp4, names);
  serve(listeners.dns_tcp6, names);
  for (Fd* socket : {&listeners.dns_udp4, &listeners.dns_udp6}) {
    if (*socket) spawn_on(home, serve_dns_datagrams(home, std::move(*socket), gateway_, session));
  }
  for (auto& worker : workers_) worker->start();
}

void EmbeddedGateway::stop() {
  for (auto& worker : workers_) worker->stop(kStopGrace);
}

}  // namespace warder
