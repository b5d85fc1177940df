// What a clone holds that the host's tree does not: read from the overlay's upper directory, whose marks the kernel made.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/clone_store.hpp"
#include "cli/tree.hpp"

namespace warder {

enum class ChangeKind : std::uint8_t { added, modified, deleted, mode, type, special };
enum class EntryType : std::uint8_t { none, file, directory, symlink, other };

std::string_view to_string(ChangeKind kind);  // "added" …
std::string_view to_string(EntryType type);   // "file" …

struct Change {
  std::filesystem::path path;  // relative to the workspace
  ChangeKind kind = ChangeKind::added;
  EntryType was = EntryType::none;  // on the host, now
  EntryType is = EntryType::none;   // in the clone; `other` is never applied
  mode_t old_mode = 0;              // permission bits only
  mode_t new_mode = 0;
  std::uint64_t old_size = 0;
  std::uint64_t new_size = 0;
  bool set_id = false;        // set-user-ID or set-group-ID in the clone: never applied
  std::string runs_later;     // why it runs code without anybody asking for it; empty: it does not
  bool host_changed = false;  // since the run began
};

// A clone beside the tree that it was made of, as both are now.
struct CloneTrees {
  explicit CloneTrees(const Clone& clone) : upper(clone.upper()), host(clone.workspace) {}
  Tree upper;
  Tree host;
};

// Sorted by path, a directory before what lies in it. What the host has just as well is no change. Throws TreeError. The
// clone must be held (clone_store.hpp).
std::vector<Change> changes_of(const Clone& clone);
std::vector<Change> changes_of(const Clone& clone, const CloneTrees& trees);

// "3 files", "1 directory": what the lines for people count.
std::string count_of(const std::vector<Change>& changes);

}  // namespace warder
