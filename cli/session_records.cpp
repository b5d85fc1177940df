#include "cli/session_records.hpp"

#include <pwd.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <future>
#include <stdexcept>

#include "cli/guard.hpp"
#include "cli/state.hpp"
#include "cli/url_queries.hpp"
#include "config/load.hpp"
#include "config/trust_store.hpp"
#include "proxy/judge.hpp"
#include "secrets/known_token.hpp"

namespace warder {
namespace {

std::string name_of(std::int64_t uid) {
  if (uid < 0) return "";
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  const int failed =
      ::getpwuid_r(static_cast<uid_t>(uid), &entry, room.data(), room.size(), &found);
  return failed == 0 && found != nullptr ? found->pw_name : "";
}

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
                  const std::vector<std::string>& command, const SessionOrigin& origin) {
  audit::SessionStart start;
  utsname machine{};
  ::uname(&machine);
  start.uid = origin.uid;
  start.user = name_of(origin.uid);
  start.host = machine.nodename;
  start.cwd = origin.cwd.string();
  if (!config.bytes.empty()) start.config_sha256 = sha256_hex(config.bytes);
  start.profile = origin.profile;
  start.kernel = std::string(machine.sysname) + " " + machine.release;
  start.session = session.id;
  start.policy = session.policy.now()->policy.name();
  start.policy_sha256 = sha256_hex(to_yaml(config, start.policy));
  start.mode = session.policy.now()->observes ? "observe" : "enforce";
  // As an `exec` record shows it: what stands in a URL's query, or looks like a credential, is in neither.
  for (const std::string& word : command) start.command.push_back(recorded_text(session, word));
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

std::string recorded_text(const Session& session, const std::string& text) {
  const auto secrets = session.secrets.now();
  std::string masked = text;
  if (!secrets->mask_set().empty()) secrets->mask_set().mask(masked);
  masked = without_queries(without_placeholders(masked, *secrets));
  return holds_known_token(masked) ? "[credential]" : masked;
}

std::unique_ptr<RunRecords> records_of(audit::Log& log, const Session& session,
                                       RunRecords::Teller teller) {
  const auto shown = [&session](const std::string& text) { return recorded_text(session, text); };
  return std::make_unique<RunRecords>(log, session.id, shown, teller);
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

bool record_end(audit::Log& log, const Session& session, int exit_code, const RunRecords* records,
                bool is_gone) {
  audit::SessionEnd end;
  end.session = session.id;
  end.exit_code = exit_code;
  end.exchanges = session.exchanges;
  end.refused = session.denials.total();
  if (records != nullptr) records->sum_up(end);
  if (is_gone) end.ended = "gone";
  return record_now(log, std::move(end));
}

}  // namespace warder
