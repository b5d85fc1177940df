#include "cli/sandbox_start.hpp"

#include <cstdlib>

#include "certs/trust.hpp"
#include "cli/protected_paths.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

fs::path executable_directory() { return fs::read_symlink("/proc/self/exe").parent_path(); }

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

void add_trust(SandboxSpec& sandbox, const SandboxTrust& trust, const RunSpec& spec) {
  for (const std::string& note : trust.callers.notes) {
    if (spec.announce) spec.announce(note);
  }
  TrustTexts texts = trust_texts(system_bundle(), trust.callers.pem, trust.ca_pem);
  sandbox.ca_pem = trust.ca_pem;
  sandbox.ca_hash = trust.ca_hash;
  sandbox.bundle_pem = std::move(texts.bundle);
  sandbox.added_pem = std::move(texts.added);
  sandbox.java_store = std::move(texts.java_store);
  std::string& options = sandbox.env["JAVA_TOOL_OPTIONS"];
  options = java_options(options, kJavaStorePath);
}

Caller caller_of_this_process() {
  return {from_environment("HOME"), from_environment("PATH"), from_environment("SUDO_UID")};
}

}  // namespace

fs::path launcher_path() { return executable_directory() / "warder-sandbox"; }

Sandbox start_sandbox(const RunSpec& spec, const SandboxTrust& trust,
                      std::map<std::string, std::string> env, std::vector<fs::path> covered,
                      std::vector<fs::path> frozen, const WorkingTree& tree,
                      const RunBounds& bounds, std::vector<HomeTree> home) {
  std::vector<fs::path> writable = spec.read_write;
  writable.push_back(spec.workspace);
  refuse_links(frozen, writable);
  SandboxSpec sandbox;
  sandbox.argv = spec.argv;
  sandbox.env = std::move(env);
  sandbox.workspace = spec.workspace;
  sandbox.read_only = spec.read_only;
  sandbox.read_write = spec.read_write;
  sandbox.home = std::move(home);
  sandbox.covered = std::move(covered);
  sandbox.frozen = std::move(frozen);
  tree.add_to(sandbox);
  sandbox.clone = spec.clone;
  sandbox.as_root = spec.as_root;
  sandbox.executable_dir = executable_directory();
  add_trust(sandbox, trust, spec);
  sandbox.bounds = bounds.bounds;
  sandbox.name = bounds.run;
  auto started = Sandbox::start(sandbox, caller_of_this_process(), launcher_path());
  if (auto* failure = std::get_if<LaunchFailure>(&started))
    throw RunRefused(failure->message, failure->exit_code);
  return std::move(std::get<Sandbox>(started));
}

void let_go(Sandbox& sandbox) {
  auto gone = sandbox.go();
  if (auto* failure = std::get_if<LaunchFailure>(&gone))
    throw RunRefused(failure->message, failure->exit_code);
}

}  // namespace warder
