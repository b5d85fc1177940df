// `warder learn`: the smallest policy that would allow what a command did, or what audit records tell of.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "cli/run_command.hpp"

namespace warder {

struct LearnArgs {
  RunArgs run;  // CMD and its policy; without CMD: the policy in force, if --config names one
  std::vector<std::filesystem::path> from;  // audit files; with --diff none: the last run's
  std::string session;                      // of these records; empty: all
  std::string out;                          // file for the policy; empty: stdout
  bool force = false;                       // write over it
  bool diff = false;
  Json json = Json::no;
};

// With CMD its exit code, as `warder run`; else 0, or 2 for what cannot be used.
int learn_command(const LearnArgs& args);

}  // namespace warder
