// What of the host's files a sandbox must not see or change although its workspace may hold it: evidence, the sources
// of secrets, what the next run will believe.
#pragma once

#include <filesystem>
#include <vector>

#include "config/config.hpp"

namespace warder {

// Directories that CMD sees empty: of the audit file, the state, the sources of secrets and tokens, the keys. Throws
// ConfigError where one of them would be the workspace itself, or where a helper that tells a secret lies in it.
std::vector<std::filesystem::path> covered_directories(const Config& config,
                                                       const std::filesystem::path& workspace,
                                                       const std::filesystem::path& audit_file);

// Files that CMD may read and must not change: the configuration and its certificates, and helpers. Absolute.
std::vector<std::filesystem::path> believed_files(const Config& config);

// What was covered and frozen when a sandbox began.
struct SeenFiles {
  std::filesystem::path workspace;
  std::filesystem::path audit_file;
  std::vector<std::filesystem::path> covered;
  std::vector<std::filesystem::path> frozen;

  // Throws ConfigError where another configuration needs more than that, or what no start would take.
  void check(const Config& next) const;
};

// A link below a writable directory cannot be held fast, only what it leads to. Throws ConfigError.
void refuse_links(const std::vector<std::filesystem::path>& files,
                  const std::vector<std::filesystem::path>& writable);

}  // namespace warder
