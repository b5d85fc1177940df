// One sandbox's life at the gateway: its identity, policy, secrets, names, and what was refused.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
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
  std::function<void(const std::string&)>
      announce;  // one line for the person who runs it; may be empty
  std::atomic<std::uint64_t> exchanges{0};
  std::atomic<std::uint64_t> connections{0};  // open now

  // One of them, while it lives.
  struct Counted {
    explicit Counted(Session& in) : session(in) { ++session.connections; }
    Counted(const Counted&) = delete;
    ~Counted() { --session.connections; }
    Session& session;
  };
};

}  // namespace warder
