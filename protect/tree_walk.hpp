// One bounded look through a working tree: the git directories in it, and the files that hold secrets.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/fd.hpp"

namespace warder {

struct WalkBounds {
  std::size_t entries = 1'000'000;
  std::size_t depth = 16;
  std::size_t bytes = 64U << 20;       // read in all
  std::size_t each_file = 256U << 10;  // of each, from its beginning
};

// Paths are relative to the tree's root; the root itself is the empty path.
struct TreeFindings {
  std::vector<std::filesystem::path>
      repositories;                              // git directories: ".git", and what looks like one
  std::vector<std::filesystem::path> git_files;  // ".git" that are files or links
  std::vector<std::filesystem::path> secrets;
  std::vector<std::pair<std::filesystem::path, mode_t>> opened;  // the mode that each had
  bool whole = true;                                             // no bound was hit
};

enum class LookFor : bool { repositories, secrets_too };

// `leave_out`: absolute directories that are not looked into. `path`: of the tree, to know them by.
TreeFindings look_through(const Fd& root, const std::filesystem::path& path, LookFor what,
                          const std::vector<std::filesystem::path>& leave_out,
                          const WalkBounds& bounds = {});

// Directories of the caller's own that were closed to the look stay open until then.
void close_again(const Fd& root, TreeFindings& found);

// Every name in the tree of these files, wherever it lies.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t born = 0;  // nanoseconds; 0: not known, or not asked for
  bool operator==(const FileIdentity&) const = default;
};
// Of what `relative` names, with its birth: the number of a file that is removed goes to the next one that is made.
std::optional<FileIdentity> identity_beneath(const Fd& root, const std::filesystem::path& relative);
struct NamesFound {
  std::vector<std::filesystem::path> names;
  bool whole = true;
};
NamesFound names_of(const Fd& root, const std::vector<FileIdentity>& files,
                    std::size_t most_entries = 1'000'000);

}  // namespace warder
