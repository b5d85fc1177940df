// One session's secrets as they are now: a snapshot that each exchange takes once, and that is replaced as values rotate,
// are revoked, or are minted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "secrets/session_secrets.hpp"

namespace warder {

// Thread-safe. A change is seen by every exchange that begins after it.
class LiveSecrets {
 public:
  explicit LiveSecrets(std::shared_ptr<const SessionSecrets> first) : now_(std::move(first)) {}

  std::shared_ptr<const SessionSecrets> now() const;

  // The next version of a secret's value, behind the same placeholder. The value before stays masked for as long as the
  // session lives. False: the session has no such secret, or it is revoked.
  bool rotate(std::string_view secret, std::shared_ptr<const SecretValue> value);
  // What its source says now: the same as rotate() with the source's own count, or null: no value for now, and requests that
  // need it are refused. False: as above.
  bool set(std::string_view secret, std::shared_ptr<const SecretValue> value, unsigned version);
  // No value any more: its placeholder is a tripwire from now on, its values stay masked. False: as above.
  bool revoke(std::string_view secret);
  // Another secret, with what it is good for. Its name is new.
  void add(Credential credential, std::vector<Grant> grants);
  // Of each secret, how many former values stay masked: a source that rotates for years has no end of them.
  static constexpr std::size_t kMostFormer = 16;
  // How many secrets have been revoked, ever.
  std::uint64_t revocations() const { return revocations_; }

  // What is called after each change, on the thread that made it; set it before the session is served.
  void on_change(std::function<void()> call) { changed_ = std::move(call); }

 private:
  bool change(std::string_view secret, const std::function<void(Credential&)>& how);
  void replace(std::vector<Credential> credentials, std::vector<Grant> grants);

  mutable std::mutex mutex_;  // guards now_
  std::mutex changing_;       // one change at a time
  std::shared_ptr<const SessionSecrets> now_;
  std::function<void()> changed_;
  std::atomic<std::uint64_t> revocations_{0};
};

}  // namespace warder
