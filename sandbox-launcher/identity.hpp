// Started as root: which ordinary user the workload becomes on the host, and how it reaches its files nonetheless.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sandbox-launcher/plan.hpp"

namespace warder {

struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::map<std::filesystem::path, std::string>
      staged;  // host path → where it was attached; empty when not root
};

// The steps of take_identity(), for whoever tries them one by one. Started as root: the first of SUDO_UID and the
// workspace's owner that is not root.
Identity choose_identity(const LaunchPlan& plan);
// Groups, gid, uid and capabilities, for good. Throws LaunchError.
void give_up_root(const Identity& identity);

// As an ordinary user: that user, nothing staged. As root: the first of SUDO_UID and the workspace's owner that is not 0,
// else 2000000000 with the workspace idmapped; a private mount namespace is made, every one of `sources` is attached
// under a 0755 tmpfs in it, the workspace's clone (if there is to be one) is mounted, then groups, gid and uid are dropped for good. Throws LaunchError.
Identity take_identity(const LaunchPlan& plan, const std::vector<std::filesystem::path>& sources);

}  // namespace warder
