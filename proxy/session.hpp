// One sandbox's life at the gateway: its identity, policy, secrets, names, and what was refused.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "audit/burst.hpp"
#include "dns/zone.hpp"
#include "policy/meter.hpp"
#include "proxy/approvals.hpp"
#include "proxy/denials.hpp"
#include "proxy/life.hpp"
#include "proxy/observe.hpp"
#include "proxy/session_origins.hpp"
#include "proxy/session_policy.hpp"
#include "secrets/live_secrets.hpp"

namespace warder {

struct Session {
  Session(std::string session_id, SessionPolicy session_policy,
          std::shared_ptr<const SessionSecrets> held)
      : id(std::move(session_id)), policy(std::move(session_policy)), secrets(std::move(held)) {
    meter.set_limits(policy.now()->limits);
    approvals.limit(policy.now()->ask);
  }

  const std::string id;
  LivePolicy policy;
  LiveSecrets secrets;
  Meter meter;  // what it has used of its policy's limits
  dns::Zone zone;
  audit::Burst denied_lookups;
  Denials denials;
  SessionOrigins origins;
  std::function<void(const std::string&)>
      announce;  // one line for the person who runs it; may be empty
  std::function<void(const std::string&)> summon;  // the same where an answer is wanted
  Approvals approvals;
  SessionLife life{Life::open};
  std::atomic<bool> quarantined{false};  // nothing of it may leave any more, for good
  std::atomic<std::uint64_t> exchanges{0};
  std::atomic<std::uint64_t> observed{0};     // of them: passed though no rule allows them
  std::atomic<std::uint64_t> connections{0};  // open now
  std::atomic<std::uint64_t> strangers{
      0};  // those that have not shown their token yet: not among them
  std::atomic<std::uint64_t> listening{0};  // listeners and resolvers that are open

  // What an exchange that begins now goes by: its policy and its secrets are of one configuration.
  struct Snapshot {
    std::shared_ptr<const SessionPolicy> policy;
    std::shared_ptr<const SessionSecrets> secrets;
  };
  Snapshot at(LiveSecrets::SteadyTime time) {
    secrets.expire(time);
    Snapshot now;
    now.secrets = secrets.now([&] { now.policy = policy.now(); });
    return now;
  }
  // Another configuration, whole: nothing that begins sees a part of it.
  void adopt(SessionPolicy next, std::vector<Grant> grants,
             const std::vector<LiveSecrets::Value>& values) {
    const std::vector<Capture> captures = next.captures;
    if (!captures.empty()) secrets.expect_minting();
    meter.set_limits(next.limits);
    approvals.limit(next.ask);
    secrets.regrant(std::move(grants), captures, values, [&] {
      policy.replace(std::move(next));
      approvals.forget_rules();
    });
  }
  // At the end of the lifetime that its limits give it, it ends. (metering.cpp)
  void end_when_due(SteadyTime now);

  // The policy's, before anything is resolved, dialled or probed; of one in quarantine nothing is.
  Verdict authorize_connection(const Authority& authority) const {
    const auto now = policy.now();
    if (!quarantined && now->observes) return observed_connection(now->policy, authority);
    if (!quarantined) return now->policy.authorize_connection(authority);
    Verdict verdict;
    verdict.reason = Reason::quarantined;
    return verdict;
  }
  Verdict authorize_name(const HostName& name) const {
    const auto now = policy.now();
    return now->observes ? observed_name(now->policy, name) : now->policy.authorize_name(name);
  }
  std::optional<Verdict> authorize_raw(const HostName& host, std::uint16_t port) const {
    auto verdict = policy.now()->policy.authorize_raw(host, port);
    if (verdict && quarantined) {
      verdict.emplace();
      verdict->reason = Reason::quarantined;
    }
    return verdict;
  }

  // One of them, while it lives.
  struct Counted {
    explicit Counted(std::atomic<std::uint64_t>& among) : count(among) { ++count; }
    Counted(const Counted&) = delete;
    ~Counted() { --count; }
    std::atomic<std::uint64_t>& count;
  };
};

}  // namespace warder
