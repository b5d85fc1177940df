#include "cli/make_session.hpp"

namespace warder {

SessionPolicy session_policy(const PolicyConfig& config, ClientCertificates certificates) {
  return {Policy(config.name, config.rules),
          config.captures,
          std::move(certificates),
          config.on_tripwire,
          config.limits,
          config.ask,
          config.observes};
}

std::shared_ptr<Session> make_session(std::string id, const PolicyConfig& config,
                                      PreparedSecrets prepared) {
  auto session = std::make_shared<Session>(std::move(id),
                                           session_policy(config, std::move(prepared.certificates)),
                                           std::move(prepared.secrets));
  if (!config.captures.empty()) session->secrets.expect_minting();
  return session;
}

}  // namespace warder
