// The parts of the host's file system that a sandbox sees, and what inside them is kept from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sandbox-launcher/view_builder.hpp"

namespace warder {

using SourceOf = std::function<std::string(const std::filesystem::path&)>;

enum class Access : std::uint8_t { read_only, read_write };

// Paths are the host's; they are the same inside. A tree may lie within another one.
class VisibleTrees {
 public:
  using Path = std::filesystem::path;

  // `source` is where `path` can be reached at this moment (identity.hpp). Of two equal paths the stricter access wins.
  void add(const Path& path, const Path& source, Access access);

  bool sees(const Path& path) const { return deepest(path) != nullptr; }
  // Where to look at a host path now, whether or not it is visible inside.
  Path reachable(const Path& path) const;
  // Symlinks followed one by one through reachable(); what cannot be looked at stays as it is.
  Path resolve(const Path& path) const;

  // `covered`, where visible, looks empty and cannot be written, renamed or replaced. Nothing is made on the host.
  // Throws LaunchError when that would take a whole tree, or one inside, away.
  void cover(const Path& covered);
  // `path`, where the workload could write it, cannot be written, renamed or replaced. A file stays so only until the
  // host itself replaces it (an editor's save): the mount goes with the file that it lies on.
  void freeze(const Path& path);
  // As freeze(), of what programs outside believe: a tree that is given as a whole is left as it is.
  void protect(const Path& path);
  // A file that looks empty, or has another text, and cannot be written. Its directory is not held fast: the mount goes
  // along with it. Throws LaunchError where a link has come to stand on the way.
  void mask(const Path& path);
  void show_text(const Path& path, std::string text);
  // Unix sockets in the tree at `path` cannot be reached: a namespace does not stop connect(2) on a path.
  void hide_sockets(const Path& path);

  // Parents before what lies in them, then what hides.
  void write(ViewBuilder& view) const;

 private:
  struct Tree {
    Path source;
    Access access;
  };
  using Entry = std::pair<const Path, Tree>;

  const Entry* deepest(const Path& path) const;
  const Entry* outermost_writable(const Path& path) const;
  void pin_ancestors(const Path& path);
  bool can_be_replaced(const Path& path) const;

  // Ordered by components: a parent comes before what lies in it.
  std::map<Path, Tree> trees_;
  std::map<Path, Tree> pins_;  // bound onto themselves, so that they cannot be renamed
  std::set<Path> covered_;
  std::set<Path> sockets_;
  std::map<Path, std::string> texts_;  // of files, instead of their own
};

}  // namespace warder
