// One session's secrets as they are now: a snapshot that each exchange takes once, and that is replaced as values rotate,
// are revoked, or are minted.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "secrets/capture.hpp"
#include "secrets/session_secrets.hpp"

namespace warder {

// Thread-safe. A change is seen by every exchange that begins after it.
class LiveSecrets {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  explicit LiveSecrets(std::shared_ptr<const SessionSecrets> first) : now_(std::move(first)) {}

  std::shared_ptr<const SessionSecrets> now() const;
  // The same; what `together` does is done in the same moment as seen by regrant()'s.
  std::shared_ptr<const SessionSecrets> now(const std::function<void()>& together) const;

  // The next version of a secret's value, behind the same placeholder. The value before stays masked for as long as the
  // session lives. False: the session has no such secret, or it is revoked.
  bool rotate(std::string_view secret, std::shared_ptr<const SecretValue> value);
  // What its source says now: the same as rotate() with the source's own count, or null: no value for now, and requests that
  // need it are refused. False: as above.
  bool set(std::string_view secret, std::shared_ptr<const SecretValue> value, unsigned version);
  // No value any more: its placeholder is a tripwire from now on, its values stay masked. False: as above.
  bool revoke(std::string_view secret);
  // What its source says of a secret.
  struct Value {
    std::string secret;
    std::shared_ptr<const SecretValue> value;  // null: none for now
    unsigned version;
  };
  // Another policy's grants, in the place of all that were not made by a capture; those of secrets that the session does not
  // have are left out. What was minted keeps what `captures` gives it now; of one that is gone it is revoked. `values` are set in the same moment.
  // `together` is called at the moment of the change, and is to be quick.
  void regrant(std::vector<Grant> grants, const std::vector<Capture>& captures,
               const std::vector<Value>& values, const std::function<void()>& together);
  // A secret that the session has not: its placeholder is known from now on. False: it has one of that name.
  bool add(Credential credential);
  // Of each secret, how many former values are kept, to be masked: an origin may give out any of them. One that would
  // come to more is revoked at its next change, since none may be forgotten.
  static constexpr std::size_t kMostFormer = 256;

  // A credential that an origin gave out in this session: the sandbox gets a placeholder for it.
  struct Minted {
    std::string name;           // "acme.access_token"; a further one is "acme.access_token.2"
    std::string_view value;     // fit to be a secret's: refuse_value()
    std::vector<Grant> grants;  // whose `secret` is filled in here
    std::optional<SteadyTime> expires;
  };
  // The placeholders, in the same order. A value that the session has already, or had, keeps its placeholder. Beyond
  // kMostMinted the oldest is over: not swapped in any more, but still masked. Empty, and nothing has changed: there would be
  // more than the session can go on masking until their lives are over. Such a reply must not pass.
  // `may` is asked where no regrant() can come in between; false: nothing is minted, and it returns nothing.
  std::vector<std::string> mint(const std::vector<Minted>& minted, Random& random,
                                const std::function<bool()>& may = {});
  static constexpr std::size_t kMostMinted = 32;
  static constexpr std::size_t kMostMintedKept = 256;
  static constexpr std::size_t kMostMintedBytes =
      std::size_t{128} * 1024;  // each change builds the machines for them anew
  // now(), with what has run out by `time` revoked.
  std::shared_ptr<const SessionSecrets> at(SteadyTime time) {
    expire(time);
    return now();
  }
  // What has run out is revoked, but for that what uses it may go on.
  void expire(SteadyTime now);
  // Origins may give out credentials in this session.
  void expect_minting() { may_mint_ = true; }
  bool may_mint() const { return may_mint_; }
  // How many changes there have been. Whoever sees a new one gets its snapshot from now().
  std::uint64_t changes() const { return changes_; }
  // How many times something was taken away: secrets revoked, grants replaced.
  std::uint64_t revocations() const { return revocations_; }

  // What is called after each change, on the thread that made it; set it before the session is served.
  void on_change(std::function<void()> call) { changed_ = std::move(call); }

 private:
  bool change(std::string_view secret, const std::function<void(Credential&)>& how);
  std::string mint_one(const Minted& minted, Random& random, std::vector<Credential>& credentials,
                       std::vector<Grant>& grants);
  void replace(std::vector<Credential> credentials, std::vector<Grant> grants,
               const std::function<void()>& together = {});

  mutable std::mutex mutex_;  // guards now_
  std::mutex changing_;       // one change at a time
  std::shared_ptr<const SessionSecrets> now_;
  std::uint64_t minted_ = 1;  // guarded by changing_
  std::function<void()> changed_;
  std::atomic<bool> may_mint_{false};
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> revocations_{0};
  std::atomic<SteadyTime> next_expiry_{SteadyTime::max()};
};

}  // namespace warder
