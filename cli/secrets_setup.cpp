#include "cli/secrets_setup.hpp"

#include <cstdlib>
#include <cstring>
#include <set>
#include <variant>
#include <vector>

#include "secrets/placeholder.hpp"
#include "secrets/sources.hpp"

namespace warder {
namespace {

SourceResult read_source(const SecretConfig& secret) {
  if (secret.source.kind == SourceConfig::Kind::file) return from_file(secret.source.file);
  const char* value = std::getenv(secret.source.env.c_str());
  if (value == nullptr) return "the variable " + secret.source.env + " is not set";
  return from_env(secret.source.env, value);
}

// The value stands in /proc/PID/environ for as long as the process lives, unless its bytes go.
void scrub_variable(const std::string& name) {
  char* value = std::getenv(name.c_str());
  if (value == nullptr) return;
  wipe(value, std::strlen(value));
  ::unsetenv(name.c_str());
}

}  // namespace

PreparedSecrets prepare_secrets(const Config& config, const PolicyConfig& policy, Random& random) {
  std::set<std::string> granted;
  for (const Grant& grant : policy.grants) granted.insert(grant.secret);
  PreparedSecrets prepared;
  std::vector<Credential> credentials;
  for (const SecretConfig& secret : config.secrets) {
    if (!granted.contains(secret.name)) continue;
    SourceResult read = read_source(secret);
    if (const auto* problem = std::get_if<std::string>(&read)) {
      throw ConfigError(secret.where + ": secret " + secret.name + ": " + *problem);
    }
    auto value = std::make_shared<const SecretValue>(std::move(std::get<SecretValue>(read)));
    std::string placeholder =
        value->reveal([&](std::string_view plain) { return make_placeholder(plain, random); });
    prepared.placeholder_env[secret.placeholder_env] = placeholder;
    credentials.push_back({secret.name, 1, std::move(value), std::move(placeholder)});
  }
  // All of them, granted here or not: no source's variable may be found in this process later.
  for (const SecretConfig& secret : config.secrets) {
    if (secret.source.kind == SourceConfig::Kind::env) scrub_variable(secret.source.env);
  }
  prepared.secrets = std::make_unique<SessionSecrets>(std::move(credentials), policy.grants);
  return prepared;
}

}  // namespace warder
