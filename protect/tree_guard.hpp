// What of the working trees a sandbox must not change, and must not read: as lists for the launcher and for the end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "protect/path_tables.hpp"
#include "protect/watched_tree.hpp"
#include "sandbox-launcher/spawn.hpp"

namespace warder {

struct GuardRequest {
  // Absolute, without links.
  std::filesystem::path workspace;
  std::vector<std::filesystem::path> read_write;
  std::vector<std::filesystem::path> read_only;
  FilesProfile files = FilesProfile::standard;
  std::vector<std::filesystem::path> unprotected;  // absolute: these and what lies below them
  std::vector<std::filesystem::path> shown;        // the same, of secrets
  std::vector<std::filesystem::path> covered;      // seen empty anyway
  std::vector<std::filesystem::path> believed;     // files that are frozen anyway
  std::filesystem::path home;                      // the caller's; may be empty
};

struct TreeGuard {
  static constexpr std::size_t kMostMasked = 256;

  std::vector<std::filesystem::path> protected_paths;  // SandboxSpec's
  std::vector<std::filesystem::path> masked;
  std::vector<ShownText> shown_texts;
  std::vector<WatchedTree> watched;  // for TakeBack
  std::vector<std::string> notes;
};

// Nothing is changed, and no program run. Throws ConfigError.
TreeGuard guard_trees(const GuardRequest& request);

}  // namespace warder
