// What a sandbox uses, as /proc and its file systems tell it: for bounds that no control group holds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace warder {

// `first` and all that descends from it, as it is at this moment.
std::vector<pid_t> tree_of(pid_t first);
// Does the kernel tell a process's children (CONFIG_PROC_CHILDREN)?
bool knows_children();

// Memory of these processes that nothing but ending them gives back: private and shared pages, each counted once, what is
// swapped out, and the memory files (memfd) that they hold open, which count again where they are mapped. Looks closely
// only where a rough sum is over `enough`.
std::uint64_t memory_of(const std::vector<pid_t>& processes, std::uint64_t enough);

// What lies in the sandbox's own file systems: /tmp, /var/tmp, /dev/shm, the home and /run. `init`: its first process.
// nullopt: we are not let in.
std::optional<std::uint64_t> own_files_of(pid_t init);

// Bytes on the disk below a directory, each file once, no link followed, no other file system entered. More than 200 levels deep: more than
// any bound.
std::uint64_t bytes_below(const std::filesystem::path& directory);

}  // namespace warder
