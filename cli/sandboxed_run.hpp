// One command in one sandbox behind an embedded gateway, from the first check to the last record.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/bounds.hpp"
#include "cli/file_changes.hpp"
#include "cli/guard.hpp"
#include "cli/working_tree.hpp"
#include "config/config.hpp"
#include "config/profile.hpp"
#include "proxy/denials.hpp"
#include "sandbox-launcher/spawn.hpp"

namespace warder {

struct RunSpec {
  Config config;
  std::string policy;                  // its name in config
  std::function<Config()> read_again;  // from where `config` came; throws ConfigError
  std::vector<std::string> argv;
  std::filesystem::path workspace;               // absolute
  std::vector<std::string> env;                  // names to pass
  std::vector<std::filesystem::path> read_only;  // absolute
  std::vector<std::filesystem::path> read_write;
  std::vector<HomePlace> home;                 // of the caller's home
  std::string profile;                         // its name, for the record; empty: none
  std::map<std::string, std::string> set_env;  // variables with a value of their own

  Bounds bounds;  // of the flags: before those of the policy

  std::vector<std::string> publish;  // --publish
  AsRoot as_root = AsRoot::no;

  std::function<void(const std::string&)> announce;  // lines for the person; may be empty
  std::function<void(const std::string&)> summon;    // the same where an answer is wanted

  WorkingTreeArgs tree{};
  std::string run;  // its id; empty: one is made
  std::filesystem::path
      clone;  // directory of the layers of the workspace's clone (run_clone.hpp); may be empty
  std::function<FileChanges()> cloned;  // with a clone: what is different in it
};

struct RunOutcome {
  int exit_code = 125;
  std::filesystem::path audit_file;
  std::vector<Denial> denials;
  std::uint64_t other_denials = 0;
  std::uint64_t exchanges = 0;
  std::string session;  // its name in the records
  std::vector<HeldBound> bounds;
  bool audit_whole = false;  // every record was written and the last checkpoint signed
};

// Throws ConfigError (exit 2) or RunRefused.
RunOutcome run_sandboxed(const RunSpec& spec);

}  // namespace warder
