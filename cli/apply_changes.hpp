// Takes changes of a clone into the host's tree, beneath its root and never through a link.
#pragma once

#include <string>
#include <vector>

#include "cli/clone_changes.hpp"

namespace warder {

struct Wanted {
  std::vector<std::filesystem::path>
      include;  // of what runs later; a directory names what lies in it
  std::vector<std::filesystem::path> force;  // although the host changed it since
  bool all = false;                          // what runs later, too
};

struct ApplyPlan {
  std::vector<Change> take;  // sorted by path
  std::vector<Change>
      withheld;  // what runs later and was not named, and what could not be done without it
  std::vector<Change> special;    // never applied
  std::vector<Change> conflicts;  // of `take`: the host changed them since the run began
};

// Pure. Throws ConfigError where a path of `wanted` names no change.
ApplyPlan plan_apply(std::vector<Change> changes, const Wanted& wanted);

// May be interrupted at any point and done again: what is in its place already is no change any more. As root what is
// new gets the owner of the tree, and what is replaced keeps its own. Throws TreeError.
void apply_changes(const CloneTrees& trees, const std::string& clone_id,
                   const std::vector<Change>& changes);

}  // namespace warder
