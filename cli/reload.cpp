#include "cli/reload.hpp"

#include <set>
#include <sstream>

#include "cli/guard.hpp"
#include "cli/make_session.hpp"
#include "cli/session_records.hpp"
#include "config/load.hpp"
#include "config/trust_store.hpp"

namespace warder {
namespace {

std::vector<const PolicyConfig*> all_policies(const Config& config) {
  std::vector<const PolicyConfig*> all;
  for (const PolicyConfig& policy : config.policies) all.push_back(&policy);
  return all;
}

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
  for (const std::string& line : lines) out += "\n  " + line;
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
  const auto lines_of = [](const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  };
  const std::vector<std::string> old = lines_of(before);
  const std::vector<std::string> now = lines_of(next);
  std::vector<std::string> changed;
  const auto add = [&](const auto& lines, const auto& others, const char* sign) {
    const std::set<std::string> known(others.begin(), others.end());
    for (const std::string& line : lines) {
      if (known.contains(line)) continue;
      if (changed.size() < Reload::kMostLines) changed.push_back(sign + line);
    }
  };
  add(old, now, "- ");
  add(now, old, "+ ");
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
  return {why, 0, {}};
}

// Of sessions whose policy says what it said before, none.
std::vector<Reload::Change> Reload::changes_to(const Config& next) const {
  const auto before = parts_.config.now();
  std::vector<Change> changes;
  for (const auto& session : parts_.sessions.list()) {
    const std::string name = session->policy.now()->policy.name();
    Change change{session, {}, {}, {session->id, name, "", "removed", "", ""}, {}};
    if (const PolicyConfig* policy = next.policy(name)) {
      const std::string text = to_yaml(next, name);
      const std::string old = before->policy(name) != nullptr ? to_yaml(*before, name) : "";
      if (old == text) continue;
      change.lines = changed_lines(old, text);
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

Reload::Outcome Reload::run(const std::string& by) {
  const std::scoped_lock lock(mutex_);
  std::vector<Change> changes;
  std::shared_ptr<const Config> next;
  try {
    next = std::make_shared<const Config>(parts_.load());
    std::string wrong = unchangeable(*parts_.config.now(), *next);
    if (!wrong.empty()) return refused(wrong, by);
    parts_.store.adopt(*next, all_policies(*next));
    changes = changes_to(*next);
  } catch (const std::exception& error) {
    return refused(error.what(), by);
  }
  for (Change& change : changes) {
    change.record.by = by;
    if (!record_now(parts_.log, change.record))
      return {"the audit log cannot be written",
              0,
              {}};  // it is the same for whoever wants to send now
  }
  parts_.config.replace(next);
  std::set<std::string> lines;
  Outcome outcome{"", changes.size(), {}};
  for (Change& change : changes) {
    change.session->adopt(std::move(change.policy), std::move(change.grants));
    for (std::string& line : change.lines) {
      if (outcome.lines.size() < kMostLines && lines.insert(line).second)
        outcome.lines.push_back(std::move(line));
    }
  }
  return outcome;
}

}  // namespace warder
