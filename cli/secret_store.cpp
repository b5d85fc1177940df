#include "cli/secret_store.hpp"

#include <cstdlib>
#include <cstring>
#include <set>
#include <variant>

#include "secrets/placeholder.hpp"
#include "secrets/sources.hpp"

namespace warder {
namespace {

// `what` begins the sentence: "warder.yaml:4: secret github".
std::shared_ptr<const SecretValue> read_value(const SourceConfig& source, const std::string& what) {
  SourceResult read = std::string();
  if (source.kind == SourceConfig::Kind::file) {
    read = from_file(source.file);
  } else if (const char* value = std::getenv(source.env.c_str())) {
    read = from_env(source.env, value);
  } else {
    read = "the variable " + source.env + " is not set";
  }
  if (const auto* problem = std::get_if<std::string>(&read))
    throw ConfigError(what + ": " + *problem);
  return std::make_shared<const SecretValue>(std::move(std::get<SecretValue>(read)));
}

// The value stands in /proc/PID/environ for as long as the process lives, unless its bytes go.
void scrub(const SourceConfig& source) {
  if (source.kind != SourceConfig::Kind::env) return;
  char* value = std::getenv(source.env.c_str());
  if (value == nullptr) return;
  wipe(value, std::strlen(value));
  ::unsetenv(source.env.c_str());
}

}  // namespace

std::string SecretStore::Held::make(Random& random) const {
  try {
    return value->reveal(
        [&](std::string_view plain) { return make_placeholder(plain, placeholder, random); });
  } catch (const PlaceholderError& error) {
    throw ConfigError(what + ": " + error.what());
  }
}

SecretStore::SecretStore(const Config& config, const std::vector<const PolicyConfig*>& policies,
                         Listeners listeners) {
  std::set<std::string> granted;
  for (const PolicyConfig* policy : policies) {
    for (const Grant& grant : policy->grants) granted.insert(grant.secret);
    certificates_[policy->name] = ClientCertificates(policy->certificates);
  }
  for (const SecretConfig& secret : config.secrets) {
    if (!granted.contains(secret.name)) continue;
    const std::string what = secret.where + ": secret " + secret.name;
    secrets_[secret.name] = {secret.placeholder_env, secret.placeholder, what,
                             read_value(secret.source, what)};
  }
  for (const ListenerConfig& listener : config.gateway.listeners) {
    if (!listener.token || listeners == Listeners::closed) continue;
    const std::string what = listener.where + ": token of listener " + listener.name;
    tokens_[listener.name] = read_value(*listener.token, what);
  }
  std::vector<Credential> all;
  SystemRandom random;
  for (const auto& [name, held] : secrets_) all.push_back({name, 1, held.value, held.make(random)});
  for (const auto& [name, value] : tokens_) {
    std::string placeholder =
        value->reveal([&](std::string_view plain) { return make_placeholder(plain, random); });
    all.push_back({"token of listener " + name, 1, value, std::move(placeholder)});
  }
  everything_ = std::make_unique<const SessionSecrets>(std::move(all), std::vector<Grant>());
  // All of them, read here or not: no source's variable may be found in this process later.
  for (const SecretConfig& secret : config.secrets) scrub(secret.source);
  for (const ListenerConfig& listener : config.gateway.listeners) {
    if (listener.token) scrub(*listener.token);
  }
}

PreparedSecrets SecretStore::for_session(const PolicyConfig& policy, Random& random) const {
  std::set<std::string> granted;
  for (const Grant& grant : policy.grants) granted.insert(grant.secret);
  PreparedSecrets prepared;
  std::vector<Credential> credentials;
  for (const std::string& name : granted) {
    const Held& held = secrets_.at(name);
    std::string placeholder = held.make(random);
    prepared.placeholder_env[held.placeholder_env] = placeholder;
    credentials.push_back({name, 1, held.value, std::move(placeholder)});
  }
  prepared.secrets = std::make_unique<SessionSecrets>(std::move(credentials), policy.grants);
  prepared.certificates = certificates_.at(policy.name);
  return prepared;
}

std::shared_ptr<const SecretValue> SecretStore::token_of(const ListenerConfig& listener) const {
  const auto found = tokens_.find(listener.name);
  return found == tokens_.end() ? nullptr : found->second;
}

}  // namespace warder
