// What is known of a working tree when a sandbox begins, so that what it adds can be told from what was there.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "protect/tree_walk.hpp"

namespace warder {

// Paths are relative to the root, unless they are said to be absolute.
struct WatchedTree {
  std::filesystem::path root;                             // absolute, without links
  FileIdentity identity;                                  // of the root
  std::set<std::filesystem::path> absent;                 // protected, and not there
  std::map<std::filesystem::path, std::string> links;     // links on the way to what is protected
  std::map<std::filesystem::path, FileIdentity> present;  // protected by a mount
  std::map<std::filesystem::path, FileIdentity>
      masked;  // shown empty, or without what is secret in them
  std::set<std::filesystem::path> repositories;
  std::set<std::filesystem::path> git_files;
  std::set<std::string> allowed;  // fingerprints of the configuration's entries that run code
  std::vector<std::filesystem::path> unprotected;  // absolute
  std::vector<std::filesystem::path> left_out;     // absolute directories that are not looked into
  bool writable = true;                            // else only `masked` is told of
};

std::string to_json(const std::vector<WatchedTree>& trees);
// Throws std::runtime_error.
std::vector<WatchedTree> watched_from_json(std::string_view text);

}  // namespace warder
