// What a command left different in its workspace: a listing before it, another one after it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "audit/record.hpp"

namespace warder {

struct FileChanges {
  std::vector<audit::FileChanged> changes;  // by name, below the workspace
  std::uint64_t git_objects = 0;            // that came into .git/objects
  std::uint64_t more = 0;                   // changes beyond kMostChanges
  bool partial = false;                     // not all of the tree was looked at
  bool cloned = false;                      // in a clone: the host's tree is as it was
};

class FileListing {
 public:
  static constexpr std::size_t kMostListed = 20'000;    // before CMD: it waits for this
  static constexpr std::size_t kMostVisited = 200'000;  // after it
  static constexpr std::size_t kMostChanges = 2'000;    // told one by one
  static constexpr unsigned kMostDepth = 64;

  // `left_out`: absolute, what lies below them is not looked at.
  FileListing(std::filesystem::path root, std::vector<std::filesystem::path> left_out);
  // What is different now.
  FileChanges changes() const;

 private:
  friend class TreeWalk;
  struct Entry {
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t written = 0;  // nanoseconds
    std::int64_t touched = 0;  // of the inode
    std::uint32_t mode = 0;
  };
  struct Tree {
    std::map<std::string, Entry> entries;
    std::uint64_t git_objects = 0;
    bool whole = true;
  };
  std::string change_of(const std::string& path, const Entry& now) const;

  std::filesystem::path root_;
  std::vector<std::filesystem::path> left_out_;
  std::int64_t began_ = 0;
  Tree before_;
};

}  // namespace warder
