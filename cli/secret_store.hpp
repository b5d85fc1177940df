// The values that the configuration names, read once; each session gets placeholders of its own for them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "config/config.hpp"
#include "proxy/client_identity.hpp"
#include "secrets/session_secrets.hpp"

namespace warder {

struct PreparedSecrets {
  std::unique_ptr<SessionSecrets> secrets;
  std::map<std::string, std::string> placeholder_env;  // variable → placeholder
  ClientCertificates certificates;
};

class SecretStore {
 public:
  // Reads the secrets and certificates that the grants of these policies name, and the listeners' tokens if `listeners` are opened.
  // Overwrites the bytes of every variable that is a source in this process's own environment. Throws ConfigError
  // that names the secret, never its value.
  enum class Listeners : bool { closed, opened };
  SecretStore(const Config& config, const std::vector<const PolicyConfig*>& policies,
              Listeners listeners);

  // Any thread.
  PreparedSecrets for_session(const PolicyConfig& policy, Random& random) const;
  // Every value that is held, whatever policy grants it, and the tokens: for looking through what a sandbox is given.
  const SessionSecrets& everything() const { return *everything_; }
  // null: the listener asks for none.
  std::shared_ptr<const SecretValue> token_of(const ListenerConfig& listener) const;

 private:
  struct Held {
    std::string placeholder_env;
    PlaceholderSpec placeholder;
    std::string what;  // begins the sentence of an error: "warder.yaml:4: secret github"
    std::shared_ptr<const SecretValue> value;
    std::string make(Random& random) const;
  };
  std::map<std::string, Held, std::less<>> secrets_;
  std::map<std::string, std::shared_ptr<const SecretValue>, std::less<>> tokens_;  // by listener
  std::unique_ptr<const SessionSecrets> everything_;
  std::map<std::string, ClientCertificates, std::less<>> certificates_;  // by policy
};

}  // namespace warder
