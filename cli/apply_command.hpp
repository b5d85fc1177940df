// `warder apply` and `warder discard`: the end of a clone, into the host's tree or into nothing.
#pragma once

#include <string>
#include <vector>

namespace warder {

struct ApplyArgs {
  std::string id;  // empty: the newest clone of this directory
  std::vector<std::string> include;
  std::vector<std::string> force;
  bool all = false;
  bool dry_run = false;
};

// 0; 1 where the host changed the same files since, and nothing was applied; 2 where there is no such clone.
int apply_command(const ApplyArgs& args);

struct DiscardArgs {
  std::string id;
};
int discard_command(const DiscardArgs& args);

}  // namespace warder
