// One command in one sandbox behind an embedded gateway, from the first check to the last record.
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "proxy/denials.hpp"

namespace warder {

struct RunSpec {
  Config config;
  std::string policy;  // its name in config
  std::vector<std::string> argv;
  std::filesystem::path workspace;               // absolute
  std::vector<std::string> env;                  // names to pass
  std::vector<std::filesystem::path> read_only;  // absolute
  std::vector<std::filesystem::path> read_write;
  std::function<void(const std::string&)> announce;  // lines for the person; may be empty
};

struct RunOutcome {
  int exit_code = 125;
  std::filesystem::path audit_file;
  std::vector<Denial> denials;
  std::uint64_t other_denials = 0;
  std::uint64_t exchanges = 0;
  bool audit_whole = false;  // every record was written and the last checkpoint signed
};

// What was refused before anything ran: says what and how to mend it. Exit code 2 or 125.
struct RunRefused : std::runtime_error {
  RunRefused(const std::string& message, int code) : std::runtime_error(message), exit_code(code) {}
  int exit_code;
};

// Throws ConfigError (exit 2) or RunRefused.
RunOutcome run_sandboxed(const RunSpec& spec);

}  // namespace warder
