// A run's working trees: what the sandbox may not change or read in them, the caches it keeps, and what is taken back.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protect/package_cache.hpp"
#include "protect/take_back.hpp"
#include "protect/tree_guard.hpp"

namespace warder {

struct RunSpec;

// Of the command line.
struct WorkingTreeArgs {
  FilesProfile files = FilesProfile::standard;
  std::vector<std::string> unprotect;  // paths as they were given
  std::vector<std::string> show;
  std::string cache;  // empty: none, but with --files dev
};

// Whether what the sandbox does in its workspace is on the host: not where an overlay catches it.
enum class TreeChanges : bool { caught, on_host };

class WorkingTree {
 public:
  // First takes back what is left of runs that were killed. Throws ConfigError.
  WorkingTree(const RunSpec& spec, const std::vector<std::filesystem::path>& covered,
              const std::vector<std::filesystem::path>& believed, const std::string& run,
              TreeChanges changes = TreeChanges::on_host);

  void set_variables(std::map<std::string, std::string>& env) const;
  void add_to(SandboxSpec& sandbox) const;
  // Call it when nothing of the sandbox runs any more.
  void finish();

 private:
  void leave_out(const std::filesystem::path& workspace);
  FilesProfile files_;
  std::optional<PackageCache> cache_;
  TreeGuard guard_;
  std::optional<TakeBack> take_back_;
};

}  // namespace warder
