// From a policy of the configuration, and the secrets that were prepared for it, to a session.
#pragma once

#include <memory>
#include <string>

#include "cli/secret_store.hpp"
#include "config/config.hpp"
#include "proxy/session.hpp"

namespace warder {

SessionPolicy session_policy(const PolicyConfig& config, ClientCertificates certificates);
std::shared_ptr<Session> make_session(std::string id, const PolicyConfig& config,
                                      PreparedSecrets prepared);

}  // namespace warder
