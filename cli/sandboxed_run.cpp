#include "cli/sandboxed_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <map>
#include <memory>
#include <optional>

#include "audit/log.hpp"
#include "cli/environment.hpp"
#include "cli/exec_reader.hpp"
#include "cli/gateway_process.hpp"
#include "cli/harden.hpp"
#include "cli/make_session.hpp"
#include "cli/private_home.hpp"
#include "cli/protected_paths.hpp"
#include "cli/publish_records.hpp"
#include "cli/published_ports.hpp"
#include "cli/run_records.hpp"
#include "cli/run_socket.hpp"
#include "cli/sandbox_start.hpp"
#include "cli/secret_store.hpp"
#include "cli/secret_watch.hpp"
#include "cli/session_records.hpp"
#include "cli/state.hpp"

namespace warder {
namespace fs = std::filesystem;

namespace {

fs::path caller_home() {
  const char* home = std::getenv("HOME");
  return home != nullptr ? home : "";
}

// What was begun and never came to its end, typically because the sandbox had died before it was let go: nothing goes
// into it any more, and the record says so.
class EndOfFailed {
 public:
  EndOfFailed(PublishedPorts& published, GatewayProcess& gateway, audit::Log& log,
              const Session& session)
      : published_(published), gateway_(gateway), log_(log), session_(session) {}
  EndOfFailed(const EndOfFailed&) = delete;
  ~EndOfFailed() {
    if (is_over_) return;
    published_.close();
    gateway_.stop();
    (void)record_end(log_, session_, kNothingRun, nullptr, true);
  }
  void is_over() { is_over_ = true; }

 private:
  static constexpr int kNothingRun = 125;
  PublishedPorts& published_;
  GatewayProcess& gateway_;
  audit::Log& log_;
  const Session& session_;
  bool is_over_ = false;
};

}  // namespace

RunOutcome run_sandboxed(const RunSpec& spec) {
  harden_process();
  CallerTrust callers = caller_trust();
  const PolicyConfig* policy = spec.config.policy(spec.policy);
  if (policy == nullptr) throw ConfigError("there is no policy named " + spec.policy);
  SystemRandom random;
  SystemClock clock;
  SecretStore store(spec.config, {policy}, SecretStore::Listeners::closed);
  PreparedSecrets prepared = store.for_session(*policy, random);
  auto env = sandbox_environment(spec.env);
  for (const auto& [name, value] : spec.set_env) env.try_emplace(name, value);
  refuse_values(spec.argv, env, *store.everything());
  for (const auto& [name, value] : prepared.placeholder_env) env[name] = value;

  if (spec.as_root == AsRoot::yes) become_root(env);
  PublishedPorts published(spec.publish);

  const std::string run = spec.run.empty() ? new_run_id() : spec.run;
  RunOutcome outcome;
  make_state_directories();
  const fs::path& named = spec.config.gateway.audit_file;
  outcome.audit_file = named.empty() ? audit_directory() / (run + ".jsonl") : named;
  auto covered = covered_directories(spec.config, spec.workspace, outcome.audit_file);
  covered.push_back(runtime_directory());
  const std::vector<fs::path> believed = believed_files(spec.config);
  // From the first file on that is to be removed again: SIGTERM is then looked at when everything stands.
  Sandbox::keep_signals_for_wait();
  PrivateHomeSpec shown{spec.home, caller_home(), spec.workspace, covered};
  shown.withheld.insert(shown.withheld.end(), believed.begin(), believed.end());
  const PrivateHome home(shown, run, *store.everything());
  for (const std::string& note : home.notes()) {
    if (spec.announce) spec.announce(note);
  }
  WorkingTree tree(spec, covered, believed, run,
                   spec.clone.empty() ? TreeChanges::on_host : TreeChanges::caught);
  tree.set_variables(env);
  RunSocket socket(run);
  const std::vector<fs::path> covered_at_start = covered;
  const auto log = open_audit_log(outcome.audit_file, run, clock);
  GatewayProcess gateway(spec.config, *log, clock);

  auto session = make_session(run, *policy, std::move(prepared));
  session->announce = spec.announce;
  session->summon = spec.summon;
  SandboxTrust trust{gateway.authority().pem(), gateway.authority().subject_hash(),
                     std::move(callers)};
  Bounds bounds = policy->bounds;
  bounds.beneath(spec.bounds);
  // While the sandbox is being made. Where the listing fails, nothing is run.
  auto listing = std::async(std::launch::async, [&spec, covered_at_start] {
    return FileListing(spec.workspace, covered_at_start);
  });
  Sandbox sandbox = start_sandbox(spec, trust, std::move(env), std::move(covered), believed, tree,
                                  {bounds, run}, home.trees());
  if (!record_start(*log, *session, spec.config, spec.argv,
                    {::getuid(), spec.workspace, spec.profile}) ||
      !record_held(*log, *session, sandbox.bounds()))
    throw RunRefused("the audit log cannot be written: nothing was run", 125);
  LogPublishRecorder publish_recorder(*log, *session);
  EndOfFailed end_of_failed(published, gateway, *log, *session);
  gateway.start();
  gateway.serve_sandbox(session, std::move(sandbox.listeners()));
  CurrentConfig current(std::make_shared<const Config>(spec.config));
  const SeenFiles seen{spec.workspace, outcome.audit_file, covered_at_start, believed};
  Reload reload({current, store, gateway.sessions(), *log, spec.read_again,
                 [&seen](const Config& next) { seen.check(next); }, spec.policy});
  socket.open(gateway.sessions(), *log, clock, reload);
  SecretWatch watch({store, gateway.sessions(), *log, spec.announce});
  if (policy->observes && spec.announce) spec.announce(kObserving);
  const auto owned = records_of(*log, *session, RunRecords::Teller::launcher);
  RunRecords& records = *owned;
  const FileListing before = listing.get();
  ExecReader reader(sandbox.take_reports(), [&records](const std::vector<std::string>& packets) {
    records.tick();
    return std::all_of(packets.begin(), packets.end(),
                       [&](const std::string& packet) { return records.take(packet); });
  });
  published.open(sandbox.pid(), publish_recorder);
  for (const std::string& line : published.lines()) {
    if (spec.announce) spec.announce(line);
  }
  let_go(sandbox);
  outcome.exit_code = sandbox.wait();
  end_of_failed.is_over();
  published.close();

  reader.join();
  records.changed(spec.cloned ? spec.cloned() : before.changes());
  tree.finish();
  watch.stop();
  socket.close();
  gateway.stop();
  outcome.bounds = sandbox.bounds();
  const bool told = records.finish();
  const bool ended = record_reached(*log, *session, outcome.bounds) &&
                     record_end(*log, *session, outcome.exit_code, &records) && told;
  outcome.audit_whole = log->close() && ended;
  outcome.denials = session->denials.list();
  outcome.other_denials = session->denials.others();
  outcome.exchanges = session->exchanges;
  outcome.session = session->id;
  if (policy->observes && spec.announce) spec.announce(observed_line(session->observed));
  return outcome;
}

}  // namespace warder
