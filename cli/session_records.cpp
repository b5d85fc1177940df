#include "cli/session_records.hpp"

#include <algorithm>
#include <future>
#include <stdexcept>

#include "cli/guard.hpp"
#include "cli/state.hpp"
#include "config/load.hpp"
#include "config/trust_store.hpp"

namespace warder {
namespace {

bool record_bound(audit::Log& log, const Session& session, const HeldBound& held) {
  audit::BoundState state;
  state.session = session.id;
  state.name = to_string(held.bound);
  state.value = text_of(held.bound, held.value);
  state.mechanism = held.mechanism;
  state.state = to_string(held.end);
  state.used = held.used;
  return record_now(log, std::move(state));
}

}  // namespace

bool record_now(audit::Log& log, audit::Record what) {
  return record_at_once(log, std::move(what)).has_value();
}

std::optional<std::uint64_t> record_at_once(audit::Log& log, audit::Record what) {
  std::promise<std::optional<std::uint64_t>> done;
  log.append(std::move(what), audit::Durability::durable, 0,
             [&done](bool ok, std::uint64_t sequence) {
               done.set_value(ok ? std::optional(sequence) : std::nullopt);
             });
  return done.get_future().get();
}

std::unique_ptr<audit::Log> open_audit_log(const std::filesystem::path& file,
                                           const std::string& run, const Clock& clock) {
  try {
    return audit::Log::open({file, audit_key_file(), run}, clock);
  } catch (const std::runtime_error& error) {
    throw RunRefused(error.what(), 2);
  }
}

bool record_start(audit::Log& log, const Session& session, const Config& config,
                  std::vector<std::string> command) {
  audit::SessionStart start;
  start.session = session.id;
  start.policy = session.policy.now()->policy.name();
  start.policy_sha256 = sha256_hex(to_yaml(config, start.policy));
  start.mode = session.policy.now()->observes ? "observe" : "enforce";
  start.command = std::move(command);
  const auto secrets = session.secrets.now();
  for (const Credential& credential : secrets->credentials())
    start.secrets.push_back(credential.name);
  return record_now(log, std::move(start));
}

bool record_rest(audit::Log& log, Session& session, audit::Burst& strangers) {
  const std::uint64_t many = strangers.take_rest();
  if (many == 0) return true;
  audit::Intent intent;
  intent.session = session.id;
  intent.exchange = ++session.exchanges;
  intent.authority = "(" + std::to_string(many) + " more)";
  intent.decision = "deny";
  intent.reason = Reason::not_authenticated;
  return record_now(log, std::move(intent));
}

bool record_held(audit::Log& log, const Session& session, const std::vector<HeldBound>& bounds) {
  return std::all_of(bounds.begin(), bounds.end(),
                     [&](const HeldBound& held) { return record_bound(log, session, held); });
}

bool record_reached(audit::Log& log, const Session& session, const std::vector<HeldBound>& bounds) {
  return std::all_of(bounds.begin(), bounds.end(), [&](const HeldBound& held) {
    return held.end == HeldBound::End::held || record_bound(log, session, held);
  });
}

bool record_end(audit::Log& log, const Session& session, int exit_code) {
  audit::SessionEnd end;
  end.session = session.id;
  end.exit_code = exit_code;
  end.exchanges = session.exchanges;
  end.refused = session.denials.total();
  return record_now(log, std::move(end));
}

}  // namespace warder
