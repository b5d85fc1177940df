#include "cli/sandboxed_run.hpp"

#include <algorithm>
#include <cstdlib>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>

#include "audit/log.hpp"
#include "certs/trust.hpp"
#include "cli/embedded_gateway.hpp"
#include "cli/environment.hpp"
#include "cli/harden.hpp"
#include "cli/secrets_setup.hpp"
#include "cli/state.hpp"
#include "config/load.hpp"
#include "config/trust_store.hpp"
#include "sandbox-launcher/spawn.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

fs::path executable_directory() { return fs::read_symlink("/proc/self/exe").parent_path(); }

bool is_within(const fs::path& path, const fs::path& tree) {
  const auto [end, ignored] = std::mismatch(tree.begin(), tree.end(), path.begin(), path.end());
  return end == tree.end();
}

// A secret's file that the sandbox could simply read would be no secret: its directory is covered, which a workspace
// itself cannot be.
std::vector<fs::path> covered_directories(const RunSpec& spec, const fs::path& audit_file) {
  std::vector<fs::path> covered{audit_file.parent_path(), state_directory()};
  for (const SecretConfig& secret : spec.config.secrets) {
    if (secret.source.kind != SourceConfig::Kind::file) continue;
    const fs::path directory = fs::weakly_canonical(secret.source.file).parent_path();
    if (is_within(fs::weakly_canonical(spec.workspace), directory)) {
      throw ConfigError(secret.where + ": the file of secret " + secret.name + ", " +
                        secret.source.file.string() +
                        ", lies in the workspace where the sandbox would read it: move it into a "
                        "directory of its own");
    }
    covered.push_back(directory);
  }
  return covered;
}

// A link cannot be held fast, only what it leads to: the sandbox could point it elsewhere for the next run.
void refuse_links(const fs::path& file, const fs::path& writable) {
  for (fs::path at = file; is_within(at, writable) && at != writable; at = at.parent_path()) {
    if (!fs::is_symlink(at)) continue;
    throw ConfigError(at.string() +
                      " is a link that the sandbox could point elsewhere for the next run: name "
                      "what it leads to");
  }
}

// What the next run will believe.
std::vector<fs::path> frozen_files(const RunSpec& spec) {
  std::vector<fs::path> files = spec.config.gateway.upstream.ca;
  if (!spec.config.file.empty()) files.push_back(spec.config.file);
  for (fs::path& file : files) {
    file = fs::absolute(file).lexically_normal();
    refuse_links(file, spec.workspace.lexically_normal());
    for (const fs::path& writable : spec.read_write)
      refuse_links(file, writable.lexically_normal());
  }
  return files;
}

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

Caller caller_of_this_process() {
  return {from_environment("HOME"), from_environment("PATH"), from_environment("SUDO_UID")};
}

SandboxSpec sandbox_spec(const RunSpec& spec, const CertificateAuthority& authority,
                         std::map<std::string, std::string> env, std::vector<fs::path> covered) {
  SandboxSpec sandbox;
  sandbox.argv = spec.argv;
  sandbox.env = std::move(env);
  sandbox.workspace = spec.workspace;
  sandbox.read_only = spec.read_only;
  sandbox.read_write = spec.read_write;
  sandbox.covered = std::move(covered);
  sandbox.frozen = frozen_files(spec);
  sandbox.executable_dir = executable_directory();
  sandbox.ca_pem = authority.pem();
  sandbox.bundle_pem = merged_bundle(system_bundle(), sandbox.ca_pem);
  sandbox.ca_hash = authority.subject_hash();
  return sandbox;
}

// Waits for a record from a thread that runs no loop.
bool record_now(audit::Log& log, audit::Record what) {
  std::promise<bool> done;
  log.append(std::move(what), audit::Durability::durable, 0,
             [&done](bool ok, std::uint64_t) { done.set_value(ok); });
  return done.get_future().get();
}

bool record_start(audit::Log& log, const RunSpec& spec, const Session& session) {
  audit::SessionStart start;
  start.session = session.id;
  start.policy = spec.policy;
  start.policy_sha256 = sha256_hex(to_yaml(spec.config, spec.policy));
  start.command = spec.argv;
  for (const Credential& credential : session.secrets->credentials())
    start.secrets.push_back(credential.name);
  return record_now(log, std::move(start));
}

bool record_end(audit::Log& log, const Session& session, int exit_code) {
  audit::SessionEnd end;
  end.session = session.id;
  end.exit_code = exit_code;
  end.exchanges = session.exchanges;
  end.refused = session.denials.total();
  return record_now(log, std::move(end));
}

std::unique_ptr<audit::Log> open_log(const fs::path& file, const std::string& run,
                                     const Clock& clock) {
  try {
    return audit::Log::open({file, audit_key_file(), run}, clock);
  } catch (const std::runtime_error& error) {
    throw RunRefused(error.what(), 2);
  }
}

}  // namespace

RunOutcome run_sandboxed(const RunSpec& spec) {
  harden_process();
  const PolicyConfig* policy = spec.config.policy(spec.policy);
  if (policy == nullptr) throw ConfigError("there is no policy named " + spec.policy);
  SystemRandom random;
  SystemClock clock;
  PreparedSecrets prepared = prepare_secrets(spec.config, *policy, random);
  check_arguments(spec.argv, *prepared.secrets);
  auto env = sandbox_environment(spec.env, prepared.placeholder_env, *prepared.secrets);

  const std::string run = new_run_id();
  RunOutcome outcome;
  make_state_directories();
  const fs::path& named = spec.config.gateway.audit_file;
  outcome.audit_file = named.empty() ? audit_directory() / (run + ".jsonl") : named;
  auto covered = covered_directories(spec, outcome.audit_file);
  Sandbox::keep_signals_for_wait();
  const auto log = open_log(outcome.audit_file, run, clock);
  EmbeddedGateway gateway(spec.config, *log, clock);

  auto session = std::make_shared<Session>(run, Policy(policy->name, policy->rules),
                                           std::move(prepared.secrets));
  session->announce = spec.announce;
  auto started =
      Sandbox::start(sandbox_spec(spec, gateway.authority(), std::move(env), std::move(covered)),
                     caller_of_this_process(), executable_directory() / "warder-sandbox");
  if (auto* failure = std::get_if<LaunchFailure>(&started))
    throw RunRefused(failure->message, failure->exit_code);
  Sandbox sandbox = std::move(std::get<Sandbox>(started));
  if (!record_start(*log, spec, *session))
    throw RunRefused("the audit log cannot be written: nothing was run", 125);
  gateway.start(session, std::move(sandbox.listeners()));
  auto gone = sandbox.go();
  if (auto* failure = std::get_if<LaunchFailure>(&gone))
    throw RunRefused(failure->message, failure->exit_code);
  outcome.exit_code = sandbox.wait();

  gateway.stop();
  const bool ended = record_end(*log, *session, outcome.exit_code);
  outcome.audit_whole = log->close() && ended;
  outcome.denials = session->denials.list();
  outcome.other_denials = session->denials.others();
  outcome.exchanges = session->exchanges;
  return outcome;
}

}  // namespace warder
