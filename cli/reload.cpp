#include "cli/reload.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "cli/guard.hpp"
#include "cli/make_session.hpp"
#include "cli/session_records.hpp"
#include "config/load.hpp"
#include "config/trust_store.hpp"

namespace warder {
namespace {

std::vector<const PolicyConfig*> policies_of(const Config& config, const std::string& only) {
  std::vector<const PolicyConfig*> policies;
  for (const PolicyConfig& policy : config.policies) {
    if (only.empty() || policy.name == only) policies.push_back(&policy);
  }
  return policies;
}

constexpr std::size_t kMostCells = 4'000'000;  // of two texts that are compared

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Without what a source says of its helper's arguments.
std::string without_secrets(const std::string& yaml) { return yaml.substr(yaml.find("policies:")); }

// Where it stands in the file is not what it says.
GatewayConfig without_places(GatewayConfig gateway) {
  gateway.audit_place.clear();
  for (ListenerConfig& listener : gateway.listeners) listener.where.clear();
  return gateway;
}

}  // namespace

// One session's policy, as it will be.
struct Reload::Change {
  std::shared_ptr<Session> session;
  SessionPolicy policy;
  std::vector<Grant> grants;
  audit::PolicyChange record;
  std::vector<std::string> lines;
};

std::string Reload::Outcome::said() const {
  if (!error.empty()) return "the configuration was not taken, nothing has changed: " + error;
  if (sessions == 0) return "the configuration was read again: no sandbox's policy has changed";
  std::string out = "the configuration was read again: it counts for " + std::to_string(sessions) +
                    (sessions == 1 ? " sandbox" : " sandboxes") + " from now on";
  const std::size_t some = std::min(lines.size(), kMostLines);
  for (std::size_t i = 0; i < some; ++i) out += "\n  " + lines[i];
  if (some < lines.size())
    out += "\n  … and " + std::to_string(lines.size() - some) + " more lines";
  return out;
}

AdminReply Reload::answer(const AdminRequest& request) {
  const Outcome outcome = run("uid " + std::to_string(request.uid));
  AdminReply reply;
  reply.status = outcome.error.empty() ? 200 : 409;
  reply.body = outcome.said() + "\n";
  return reply;
}

std::vector<std::string> changed_lines(const std::string& before, const std::string& next) {
  const std::vector<std::string> old = lines_of(before);
  const std::vector<std::string> now = lines_of(next);
  if (old.size() * now.size() > kMostCells) return {"(too much has changed to be shown)"};
  // How many lines the rests of both have in common, in order.
  std::vector<std::vector<std::uint32_t>> common(old.size() + 1,
                                                 std::vector<std::uint32_t>(now.size() + 1));
  for (std::size_t i = old.size(); i-- > 0;) {
    for (std::size_t j = now.size(); j-- > 0;) {
      common[i][j] = old[i] == now[j] ? common[i + 1][j + 1] + 1
                                      : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::vector<std::string> changed;
  for (std::size_t i = 0, j = 0; i < old.size() || j < now.size();) {
    if (i < old.size() && j < now.size() && old[i] == now[j]) {
      ++i, ++j;
    } else if (j == now.size() || (i < old.size() && common[i + 1][j] >= common[i][j + 1])) {
      changed.push_back("- " + old[i++]);
    } else {
      changed.push_back("+ " + now[j++]);
    }
  }
  return changed;
}

std::string unchangeable(const Config& before, const Config& next) {
  if (without_places(before.gateway) == without_places(next.gateway)) return "";
  return next.file.string() +
         ": 'gateway' has changed, which takes a restart: put it back, or restart the gateway";
}

Reload::Outcome Reload::refused(const std::string& why, const std::string& by) {
  audit::PolicyChange event;
  event.change = "refused";
  event.by = by;
  event.detail = why;
  (void)record_now(parts_.log, std::move(event));
  return {why, 0, {}, {}};
}

// Of sessions whose policy says what it said before, none.
std::vector<Reload::Change> Reload::changes_to(const Config& next, const Config& before,
                                               std::set<std::string>& seen) const {
  std::vector<Change> changes;
  for (const auto& session : parts_.sessions.list()) {
    if (!seen.insert(session->id).second) continue;
    const std::string name = session->policy.now()->policy.name();
    Change change{session, {}, {}, {session->id, name, "", "removed", "", ""}, {}};
    if (const PolicyConfig* policy = next.policy(name)) {
      const std::string text = to_yaml(next, name);
      const std::string old = before.policy(name) != nullptr ? to_yaml(before, name) : "";
      // A certificate may be another one in the same file.
      if (old == text && policy->certificates.empty()) continue;
      change.lines =
          changed_lines(without_secrets(old.empty() ? "policies:" : old), without_secrets(text));
      change.policy = session_policy(*policy, parts_.store.certificates(name));
      change.grants = grants_of(*policy);
      change.record.change = "replaced";
      change.record.policy_sha256 = sha256_hex(text);
    } else {
      change.policy.policy = Policy(name, {});
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

// Written down first. False: it could not be.
bool Reload::record(std::vector<Change>& changes, const std::string& by) {
  for (Change& change : changes) {
    change.record.by = by;
    if (!record_now(parts_.log, change.record)) return false;
  }
  return true;
}

void Reload::carry_out(std::vector<Change>& changes, Outcome& outcome) {
  for (Change& change : changes) {
    const auto values = parts_.store.values_for(*change.session->secrets.now());
    change.session->adopt(std::move(change.policy), std::move(change.grants), values);
    // Once for each policy, however many sandboxes go by it.
    if (!outcome.shown.insert(change.record.policy).second) continue;
    outcome.lines.insert(outcome.lines.end(), change.lines.begin(), change.lines.end());
  }
  outcome.sessions += changes.size();
}

Reload::Outcome Reload::run(const std::string& by) {
  const std::scoped_lock lock(mutex_);
  const auto before = parts_.config.now();
  std::set<std::string> seen;
  std::vector<Change> changes;
  std::shared_ptr<const Config> next;
  // From here on no session is given a value but with the grants that it is meant for.
  std::unique_lock<std::mutex> held_back;
  try {
    next = std::make_shared<const Config>(parts_.load());
    std::string wrong = unchangeable(*before, *next);
    if (!wrong.empty()) return refused(wrong, by);
    parts_.check(*next);
    // It may take long; what rotates or is revoked meanwhile does not wait for it.
    const auto needed = parts_.store.prepare(*next, policies_of(*next, parts_.policy));
    held_back = parts_.store.hold_back();
    parts_.store.adopt(needed);
    changes = changes_to(*next, *before, seen);
  } catch (const std::exception& error) {
    return refused(error.what(), by);
  }
  if (!record(changes, by))
    return {"the audit log cannot be written", 0, {}, {}};  // it is the same for whoever sends now
  parts_.config.replace(next);
  Outcome outcome;
  carry_out(changes, outcome);
  // Those that began meanwhile, by the configuration before; whoever begins from here on sees that it has changed.
  auto late = changes_to(*next, *before, seen);
  try {
    if (!late.empty()) parts_.check(*next);
  } catch (const std::exception& error) {
    for (Change& change : late) {
      change.policy = SessionPolicy();
      change.policy.policy = Policy(change.record.policy, {});
      change.grants.clear();
      change.record.change = "removed";
      change.record.detail = error.what();
    }
  }
  // What cannot be recorded is not undone: nothing of it will be let through.
  (void)record(late, by);
  carry_out(late, outcome);
  return outcome;
}

}  // namespace warder
