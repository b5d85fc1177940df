// `warder run`: from flags and files to one sandboxed command, and the summary after it.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/sandboxed_run.hpp"
#include "config/load.hpp"
#include "config/profile.hpp"

namespace warder {

enum class Quiet : bool { no, yes };

struct RunArgs {
  std::string gateway;  // --gateway SOCK; empty: a gateway in this process
  std::string config;   // --config; empty: the workspace's warder.yaml if it is trusted, else none
  std::string policy;
  std::string profile;  // --profile; empty: none
  RunFlags flags;
  std::vector<std::string> env;
  std::vector<std::string> read_only;
  std::vector<std::string> read_write;

  std::array<std::string, kBounds> bounds{};  // --memory …, by their place; empty: not given
  std::vector<std::string> publish;
  AsRoot as_root = AsRoot::no;

  std::vector<std::string> command;

  WorkingTreeArgs tree{};

  Quiet quiet = Quiet::no;

  bool clone = false;  // --clone: the host's tree stays as it is
};

struct Chosen {
  Config config;
  std::string policy;  // its name in it
  std::optional<Profile> profile{};
  ProfileSecrets secrets{};  // of the profile
};
// What the flags and files amount to. Throws ConfigError.
Chosen choose(const RunArgs& args);
// One command, the lines around it on stderr. Throws ConfigError or RunRefused.
RunOutcome run_chosen(const RunArgs& args, Chosen chosen);
// 125 and a line when its record is not whole.
int exit_code_of(const RunOutcome& outcome, bool remote);

// CMD's exit code; 2 for a configuration that cannot be used, 125 when Warder itself failed. Messages go to stderr.
int run_command(const RunArgs& args);
// The configuration that run_command() would use, as YAML on stdout.
int print_config_command(const RunArgs& args);

}  // namespace warder
