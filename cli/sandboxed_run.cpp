#include "cli/sandboxed_run.hpp"

#include <map>
#include <memory>

#include "audit/log.hpp"
#include "cli/environment.hpp"
#include "cli/gateway_process.hpp"
#include "cli/harden.hpp"
#include "cli/protected_paths.hpp"
#include "cli/sandbox_start.hpp"
#include "cli/secret_store.hpp"
#include "cli/secret_watch.hpp"
#include "cli/session_records.hpp"
#include "cli/state.hpp"

namespace warder {
namespace fs = std::filesystem;

RunOutcome run_sandboxed(const RunSpec& spec) {
  harden_process();
  const PolicyConfig* policy = spec.config.policy(spec.policy);
  if (policy == nullptr) throw ConfigError("there is no policy named " + spec.policy);
  SystemRandom random;
  SystemClock clock;
  SecretStore store(spec.config, {policy}, SecretStore::Listeners::closed);
  PreparedSecrets prepared = store.for_session(*policy, random);
  auto env = sandbox_environment(spec.env);
  refuse_values(spec.argv, env, *store.everything());
  for (const auto& [name, value] : prepared.placeholder_env) env[name] = value;

  const std::string run = new_run_id();
  RunOutcome outcome;
  make_state_directories();
  const fs::path& named = spec.config.gateway.audit_file;
  outcome.audit_file = named.empty() ? audit_directory() / (run + ".jsonl") : named;
  auto covered = covered_directories(spec.config, spec.workspace, outcome.audit_file);
  Sandbox::keep_signals_for_wait();
  const auto log = open_audit_log(outcome.audit_file, run, clock);
  GatewayProcess gateway(spec.config, *log, clock);

  auto session = std::make_shared<Session>(run, Policy(policy->name, policy->rules),
                                           std::move(prepared.secrets));
  session->certificates = std::move(prepared.certificates);
  session->captures = policy->captures;
  session->on_tripwire = policy->on_tripwire;
  session->observes = policy->observes;
  if (!policy->captures.empty()) session->secrets.expect_minting();
  session->announce = spec.announce;
  SandboxTrust trust{gateway.authority().pem(), gateway.authority().subject_hash()};
  Sandbox sandbox =
      start_sandbox(spec, trust, std::move(env), std::move(covered), believed_files(spec.config));
  if (!record_start(*log, *session, spec.config, spec.argv))
    throw RunRefused("the audit log cannot be written: nothing was run", 125);
  gateway.start();
  gateway.serve_sandbox(session, std::move(sandbox.listeners()));
  SecretWatch watch({store, gateway.sessions(), *log, spec.announce});
  if (policy->observes && spec.announce) spec.announce(kObserving);
  let_go(sandbox);
  outcome.exit_code = sandbox.wait();

  watch.stop();
  gateway.stop();
  const bool ended = record_end(*log, *session, outcome.exit_code);
  outcome.audit_whole = log->close() && ended;
  outcome.denials = session->denials.list();
  outcome.other_denials = session->denials.others();
  outcome.exchanges = session->exchanges;
  outcome.session = session->id;
  if (policy->observes && spec.announce) spec.announce(observed_line(session->observed));
  return outcome;
}

}  // namespace warder
