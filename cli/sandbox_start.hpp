// From a run's description to a sandbox that stands, whoever its gateway is.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/caller_trust.hpp"
#include "cli/sandboxed_run.hpp"
#include "sandbox-launcher/spawn.hpp"

namespace warder {

// The gateway's authority, as the sandbox will trust it, and what its caller trusts besides.
struct SandboxTrust {
  std::string ca_pem;
  std::string ca_hash;
  CallerTrust callers{};
};

// What it may take of the machine, and the name of its run.
struct RunBounds {
  Bounds bounds;
  std::string run;
};

// Of warder-sandbox, which lies beside this executable.
std::filesystem::path launcher_path();

// Throws RunRefused or ConfigError. CMD is not running yet.
Sandbox start_sandbox(const RunSpec& spec, const SandboxTrust& trust,
                      std::map<std::string, std::string> env,
                      std::vector<std::filesystem::path> covered,
                      std::vector<std::filesystem::path> frozen, const WorkingTree& tree,
                      const RunBounds& bounds, std::vector<HomeTree> home = {});
// Lets CMD run. Throws RunRefused.
void let_go(Sandbox& sandbox);

}  // namespace warder
