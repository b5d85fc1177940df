// The values that the configuration names, kept as their sources have them; each session gets placeholders of its own.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "cli/make_source.hpp"
#include "config/config.hpp"
#include "proxy/client_identity.hpp"
#include "secrets/live_secrets.hpp"
#include "secrets/live_value.hpp"
#include "secrets/secret_life.hpp"
#include "secrets/session_secrets.hpp"

namespace warder {

struct PreparedSecrets {
  std::unique_ptr<SessionSecrets> secrets;
  std::map<std::string, std::string> placeholder_env;  // variable → placeholder
  ClientCertificates certificates;
};

// The policy's own, and those of its captures.
std::vector<Grant> grants_of(const PolicyConfig& policy);

class SecretStore {
 public:
  // Reads the secrets and certificates that the grants of these policies name, and the listeners' tokens if `listeners` are opened.
  // Overwrites the bytes of every variable that is a source in this process's own environment. Throws ConfigError
  // that names the secret, never its value.
  enum class Listeners : bool { closed, opened };
  SecretStore(const Config& config, const std::vector<const PolicyConfig*>& policies,
              Listeners listeners);

  // What another configuration needs: the secrets that are new, or have another source, and the certificates.
  struct Next;
  // Reads it, which may take as long as a helper does. Throws as the constructor does. One thread at a time.
  std::shared_ptr<Next> prepare(const Config& config,
                                const std::vector<const PolicyConfig*>& policies);
  // From now on it counts. What it no longer names stays held, since it is to be masked.
  void adopt(const std::shared_ptr<Next>& next);

  // While it is held no session is given values: for who puts them in place together with grants.
  std::unique_lock<std::mutex> hold_back() const { return std::unique_lock(handing_out_); }
  // What there is of the secrets that a session has. Any thread.
  std::vector<LiveSecrets::Value> values_for(const SessionSecrets& secrets) const;

  // Any thread. Throws ConfigError when one of the policy's secrets has been revoked.
  PreparedSecrets for_session(const PolicyConfig& policy, Random& random) const;
  // What the policy's sessions may show. Any thread.
  ClientCertificates certificates(std::string_view policy) const;
  // Every value that is or was held, whatever policy grants it, and the tokens: for looking through what a sandbox is
  // given. Any thread.
  std::shared_ptr<const SessionSecrets> everything() const { return everything_->now(); }
  // null: the listener asks for none.
  std::shared_ptr<const LiveValue> token_of(const ListenerConfig& listener) const;

  // Looks at every source; one thread at a time. What is slow goes on by itself and is taken by a later call; it gives up
  // when `stop` is requested. Returns lines for the person. Sessions learn of it by update().
  std::vector<std::string> look(SourceTime now, const std::stop_token& stop);

  struct Change {
    std::string secret;
    SecretEvent event;
    unsigned version;
  };
  // Makes of a session's secrets what they are now. Any thread. Returns what that changed.
  std::vector<Change> update(LiveSecrets& session) const;
  // The same for everything() and the tokens; returns what changed of these.
  std::vector<Change> update_own() const;

 private:
  struct Held {
    std::string what;  // "warder.yaml:4: secret github"
    SourceConfig config;
    std::string placeholder_env;
    PlaceholderSpec placeholder;
    std::unique_ptr<SecretSource> source;
    SecretLife life;
    std::shared_ptr<LiveValue> token{};  // of a listener's token, else null
    std::future<Reading> reading{};  // of a slow source that is being asked; dies before the source
    // One for the value, or for the last one if there is none now. Throws ConfigError.
    std::string make(Random& random) const;
  };
  struct Now {
    std::shared_ptr<const SecretValue> value;
    unsigned version;
    bool is_revoked;
    std::shared_ptr<LiveValue> token;
  };
  std::optional<Now> now_of(std::string_view name) const;
  static SecretEvent event_of(const Credential& before, const Now& now);
  struct Read {
    Held held;
    Reading first;
  };
  static Read read(const std::string& name, const std::string& what, const SourceConfig& source,
                   SourceMaker& maker);
  static Read read(const SecretConfig& secret, SourceMaker& maker);
  void add(const std::string& name, Held held);
  void replace_source(const std::string& name, Held& held, Read next);
  void refuse_wiped(const SecretConfig& secret) const;
  void check_shape(const Held& held, const SecretConfig& secret) const;
  static std::optional<Reading> next_reading(Held& held, bool is_due, const std::stop_token& stop);

  // A source that was replaced while it was being asked.
  struct Retired {
    std::unique_ptr<SecretSource> source;
    std::future<Reading> reading;  // dies before it
  };
  mutable std::mutex handing_out_;
  std::vector<Retired> retired_;  // guarded by looking_
  std::set<std::string> wiped_;   // variables that were read, and are gone; of who prepares
  std::mutex looking_;            // one look, or one adoption, at a time
  mutable std::mutex mutex_;      // guards what is below, but for `everything_`
  std::map<std::string, Held, std::less<>> held_;  // by secret, and by "token of listener NAME"
  std::unique_ptr<LiveSecrets> everything_;
  std::map<std::string, ClientCertificates, std::less<>> certificates_;  // by policy
};

}  // namespace warder
