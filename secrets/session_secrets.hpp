// What one session may use: each secret's value, this session's placeholder for it, and the grants;
// with the automata made from them. Immutable; a snapshot is shared by every exchange that began
// with it.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "http/authority.hpp"
#include "secrets/grant.hpp"
#include "secrets/mask.hpp"
#include "secrets/matcher.hpp"
#include "secrets/secret_value.hpp"

namespace warder {

struct Credential {
  std::string name;  // of the secret
  unsigned version = 1;
  std::shared_ptr<const SecretValue>
      value;  // null: cannot be had; a request that needs it is refused
  std::string placeholder;
  // What it was before: never swapped in, always masked.
  std::vector<std::shared_ptr<const SecretValue>> former{};
  bool is_revoked = false;  // its placeholder is a tripwire wherever it stands
  // Of one that an origin minted in this session (secrets/live_secrets.hpp).
  bool is_minted = false;
  bool is_expired = false;  // over: by time, or for younger ones
  bool is_past = false;     // by time: its origin does not take it any more
  std::optional<std::chrono::steady_clock::time_point> expires{};
};

class SessionSecrets {
 public:
  SessionSecrets(std::vector<Credential> credentials, std::vector<Grant> grants);
  ~SessionSecrets();
  SessionSecrets(const SessionSecrets&) = delete;
  SessionSecrets& operator=(const SessionSecrets&) = delete;

  const std::vector<Credential>& credentials() const { return credentials_; }
  const std::vector<Grant>& grants() const { return grants_; }
  const Credential* credential(std::string_view secret_name) const;
  // The grants whose hosts match.
  std::vector<const Grant*> grants_for(const HostName& host) const;
  // Every placeholder, raw; pattern ids are indices into credentials().
  const Matcher& placeholders() const { return *placeholders_; }
  // Every value and its encodings.
  const MaskSet& mask_set() const { return *mask_set_; }

  // The placeholders of all sessions in one table that they share, and which of its ids are this
  // session's own.
  struct Foreign {
    std::shared_ptr<const Matcher> placeholders;  // null: no other session is known
    std::vector<std::uint32_t> own;
    bool is_own(std::uint32_t pattern) const;
  };
  // Changes as sessions come and go, from any thread. Each exchange takes the table once.
  void set_foreign(std::shared_ptr<const Matcher> placeholders,
                   std::vector<std::uint32_t> own = {}) const;
  Foreign foreign() const;
  // From now on the same table as `other`'s, however either of them is told of a new one.
  void set_foreign_of(const SessionSecrets& other) const { foreign_ = other.foreign_; }

 private:
  std::vector<Credential> credentials_;
  std::vector<Grant> grants_;
  std::unique_ptr<Matcher> placeholders_;
  std::unique_ptr<MaskSet> mask_set_;
  struct ForeignTable {
    std::mutex mutex;
    Foreign foreign;
  };
  mutable std::shared_ptr<ForeignTable> foreign_ = std::make_shared<ForeignTable>();
};

}  // namespace warder
