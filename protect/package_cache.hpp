// A directory of the host where package managers in a sandbox keep what they have fetched, from one run to the next.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sandbox-launcher/spawn.hpp"

namespace warder {

struct PackageCacheRules {
  std::filesystem::path workspace;
  std::vector<std::filesystem::path> writable;  // given to the sandbox
  std::vector<std::filesystem::path> covered;   // never seen by it
  std::filesystem::path home;                   // the caller's; may be empty
};

struct PackageCache {
  HomeTree tree;
  std::vector<HomeLink> links;
  std::map<std::string, std::string> variables;  // where package managers look for it
};

// Makes the directory where it is missing. One that was there is taken only when it is empty or was made so: what else
// lies in it would be the sandbox's to change. Throws ConfigError.
PackageCache open_package_cache(const std::filesystem::path& given, const PackageCacheRules& rules);

// ~/.cache/warder/packages; of --files dev.
std::filesystem::path usual_package_cache(const std::filesystem::path& home);

}  // namespace warder
