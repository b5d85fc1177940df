// One sandbox's life at the gateway: its identity, policy, secrets, names, and what was refused.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "dns/zone.hpp"
#include "policy/policy.hpp"
#include "proxy/denials.hpp"
#include "secrets/session_secrets.hpp"

namespace warder {

struct Session {
  Session(std::string session_id, Policy session_policy, std::unique_ptr<const SessionSecrets> held)
      : id(std::move(session_id)), policy(std::move(session_policy)), secrets(std::move(held)) {}

  const std::string id;
  const Policy policy;
  const std::unique_ptr<const SessionSecrets> secrets;
  dns::Zone zone;
  Denials denials;
  std::function<void(const std::string&)> announce;  // one line for the person who runs it; may be empty
  std::atomic<std::uint64_t> exchanges{0};
  std::atomic<std::uint64_t> connections{0};  // open now

  // Where a secret of this session has been sent: from then on a response that cannot be searched is refused there.
  void secret_was_sent_to(const Authority& authority) {
    const std::scoped_lock lock(mutex_);
    sent_to_.insert(authority.host_port());
  }
  bool was_secret_sent_to(const Authority& authority) const {
    const std::scoped_lock lock(mutex_);
    return sent_to_.contains(authority.host_port());
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::string> sent_to_;  // bounded by the grants' hosts that the policy lets through
};

}  // namespace warder
