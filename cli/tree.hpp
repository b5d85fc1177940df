// A directory tree as somebody else may have left it: every step stays beneath its root, and no link is followed.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "cli/guard.hpp"

namespace warder {

// A step that failed, with the path it failed at. The message is for people.
struct TreeError : RunRefused {
  TreeError(const std::string& what, const std::filesystem::path& path, int error);
};

class Tree {
 public:
  using Path = std::filesystem::path;  // relative to the root; empty: the root

  // Throws TreeError.
  explicit Tree(const Path& root);

  // A path beyond the kernel's limit has no entry: nothing can be done about it by its name.
  static bool can_be_named(const Path& path);

  std::optional<struct stat> entry(const Path& path) const;  // nullopt: there is none
  std::string link_target(const Path& path) const;
  std::vector<std::string> names_in(const Path& directory) const;  // sorted by bytes
  std::optional<std::string> attribute(const Path& path, const char* name) const;  // no link
  // What is ours and whose mode keeps even us out can be read from now on; its own mode is kept with it, and returned.
  // For a tree that is ours alone.
  mode_t unlock(const Path& path, mode_t mode) const;
  // A regular file.
  Fd open_file(const Path& path) const;
  // The directory that `path` lies in.
  Fd open_parent(const Path& path) const;
  std::string contents(const Path& path, std::size_t most) const;  // its beginning when larger

  // The permissions of what is there and is no link.
  void change_mode(const Path& path, mode_t mode) const;

  const Path& root() const { return root_; }

 private:
  Fd open(const Path& path, std::uint64_t flags) const;
  Path root_;
  Fd fd_;
};

bool same_contents(const Fd& one, const Fd& other);

// Everything below the directory `name` in `parent`, and itself. However deep: nothing is recursed into.
void remove_tree(const Fd& parent, const std::string& name);

}  // namespace warder
