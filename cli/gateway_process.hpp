// The gateway in this process: workers, certificate authority, resolver, trusted roots. Sessions come and go on it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "audit/log.hpp"
#include "base/clock.hpp"
#include "certs/leaf_cache.hpp"
#include "config/config.hpp"
#include "proxy/acceptor.hpp"
#include "proxy/gateway.hpp"
#include "proxy/ingress/proxy_access.hpp"
#include "proxy/sessions.hpp"
#include "proxy/worker.hpp"
#include "sandbox-launcher/spawn.hpp"

namespace warder {

class GatewayProcess {
 public:
  // Makes the authority and reads the trusted roots. Throws std::runtime_error. No thread is started.
  GatewayProcess(const Config& config, audit::Log& audit, const Clock& clock);
  ~GatewayProcess();  // stop()

  const CertificateAuthority& authority() const { return authority_; }
  Gateway& gateway() { return gateway_; }
  Sessions& sessions() { return sessions_; }

  // Starts the workers.
  void start();
  // After start(), any thread. The session is one of sessions() from here on.
  void serve_sandbox(std::shared_ptr<Session> session, SandboxListeners listeners);
  void serve_proxy(std::shared_ptr<const ProxyAccess> access, ListenerConfig::Kind kind,
                   Fd listener);
  // Ends the session: its listeners close and its connections break off, within a sweep. Waits for that, at most
  // `limit`; its exchanges have left their receipts then.
  void end_session(Session& session, std::chrono::milliseconds limit);

  // No more connections; what runs may end. How many connections are left open.
  void drain();
  // After drain(): what still runs and has words for it (a WebSocket) is ended with them, within a sweep.
  void take_leave();
  bool is_draining() const { return draining_; }
  std::uint64_t connections() const;
  // Ends every connection; exchanges leave their receipts. The log must still be open.
  void stop();

 private:
  void accept(Fd listener, const std::shared_ptr<Session>& session, Serve serve);
  void advance(Life to);

  CertificateAuthority authority_;
  LeafCache leaves_;
  SandboxTls sandbox_tls_;
  UpstreamTls upstream_tls_;
  Resolver resolver_;
  Gateway gateway_;
  Sessions sessions_;
  std::atomic<bool> draining_{false};
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace warder
