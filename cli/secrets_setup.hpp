// Reads the values that a policy's grants need, makes this session's placeholders, and forgets where they came from.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/random.hpp"
#include "config/config.hpp"
#include "secrets/session_secrets.hpp"

namespace warder {

struct PreparedSecrets {
  std::unique_ptr<SessionSecrets> secrets;
  std::map<std::string, std::string> placeholder_env;  // variable → placeholder
};

// Only the secrets that `policy` grants are read. Overwrites the bytes of each variable that was a source in this
// process's own environment. Throws ConfigError that names the secret, never its value.
PreparedSecrets prepare_secrets(const Config& config, const PolicyConfig& policy, Random& random);

}  // namespace warder
