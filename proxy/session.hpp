// One sandbox's life at the gateway: its identity, policy, secrets, names, and what was refused.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "audit/burst.hpp"
#include "dns/zone.hpp"
#include "policy/policy.hpp"
#include "proxy/client_identity.hpp"
#include "proxy/denials.hpp"
#include "proxy/life.hpp"
#include "proxy/observe.hpp"
#include "proxy/session_origins.hpp"
#include "secrets/capture.hpp"
#include "secrets/live_secrets.hpp"

namespace warder {

struct Session {
  Session(std::string session_id, Policy session_policy, std::shared_ptr<const SessionSecrets> held)
      : id(std::move(session_id)), policy(std::move(session_policy)), secrets(std::move(held)) {}

  const std::string id;
  const Policy policy;
  LiveSecrets secrets;
  ClientCertificates certificates;  // set before it is served, as these are
  std::vector<Capture> captures;
  OnTripwire on_tripwire = OnTripwire::block;
  bool observes = false;  // what no rule allows passes all the same (observe.hpp)
  dns::Zone zone;
  audit::Burst denied_lookups;
  Denials denials;
  SessionOrigins origins;
  std::function<void(const std::string&)>
      announce;  // one line for the person who runs it; may be empty
  SessionLife life{Life::open};
  std::atomic<bool> quarantined{false};  // nothing of it may leave any more, for good
  std::atomic<std::uint64_t> exchanges{0};
  std::atomic<std::uint64_t> observed{0};     // of them: passed though no rule allows them
  std::atomic<std::uint64_t> connections{0};  // open now
  std::atomic<std::uint64_t> strangers{
      0};  // those that have not shown their token yet: not among them
  std::atomic<std::uint64_t> listening{0};  // listeners and resolvers that are open

  // The policy's, before anything is resolved, dialled or probed; of one in quarantine nothing is.
  Verdict authorize_connection(const Authority& authority) const {
    if (!quarantined && observes) return observed_connection(policy, authority);
    if (!quarantined) return policy.authorize_connection(authority);
    Verdict verdict;
    verdict.reason = Reason::quarantined;
    return verdict;
  }
  Verdict authorize_name(const HostName& name) const {
    return observes ? observed_name(policy, name) : policy.authorize_name(name);
  }
  std::optional<Verdict> authorize_raw(const HostName& host, std::uint16_t port) const {
    auto verdict = policy.authorize_raw(host, port);
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
