// Host paths opened by root and attached where an ordinary user reaches them, in a mount namespace of our own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace warder {

struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
};

// Leaves the host's mount namespace. Each of `sources` can be reached at the path that is returned for it; one that is
// also in `writable`, and belongs to somebody else than `owner`, looks as if it belonged to `owner`: what is made in it
// belongs on disk to whom it belonged before. Throws LaunchError.
std::map<std::filesystem::path, std::string> stage(
    const std::vector<std::filesystem::path>& sources,
    const std::set<std::filesystem::path>& writable, Owner owner);

// "ext4", by the mount that `path` is on.
std::string file_system_of(const std::filesystem::path& path);

}  // namespace warder
