// A gateway inside this process, serving one sandbox: workers, listeners, certificate authority, audit log.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "audit/log.hpp"
#include "base/clock.hpp"
#include "certs/leaf_cache.hpp"
#include "config/config.hpp"
#include "proxy/gateway.hpp"
#include "proxy/session.hpp"
#include "proxy/worker.hpp"
#include "sandbox-launcher/spawn.hpp"

namespace warder {

class EmbeddedGateway {
 public:
  // Makes the authority and reads the trusted roots. Throws std::runtime_error. No thread is started.
  EmbeddedGateway(const Config& config, audit::Log& audit, const Clock& clock);
  ~EmbeddedGateway();  // stop()

  const CertificateAuthority& authority() const { return authority_; }
  // Starts the workers and serves the sandbox's listeners.
  void start(std::shared_ptr<Session> session, SandboxListeners listeners);
  // Ends every connection; exchanges leave their receipts. The log must still be open.
  void stop();

 private:
  CertificateAuthority authority_;
  LeafCache leaves_;
  SandboxTls sandbox_tls_;
  UpstreamTls upstream_tls_;
  Resolver resolver_;
  Gateway gateway_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace warder
