// The control groups of one sandbox: made below our own, entered before CMD runs, removed at the end. Version 1 and 2.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bounds.hpp"

namespace warder {

// Where this process's own group lies for one controller.
struct GroupPlace {
  int version = 1;
  std::filesystem::path own;
  std::filesystem::path top;  // the mount: nothing above it is ours to see
};
// As /proc/self/cgroup and /proc/self/mountinfo say. nullopt: no such hierarchy is mounted.
std::optional<GroupPlace> group_place(std::string_view controller, const std::string& cgroup,
                                      const std::string& mountinfo);

class ControlGroup {
 public:
  // Groups called warder-NAME-PID for those of `bounds` that one can be had for; others are not held here. First
  // removes what was left by a warder that is gone.
  static ControlGroup make(const Bounds& bounds, const std::string& name);
  ControlGroup() = default;
  ControlGroup(ControlGroup&& other) noexcept;
  ControlGroup& operator=(ControlGroup&& other) noexcept;
  ~ControlGroup();

  // "cgroup v1"; empty: it is not held.
  std::string holds(Bound bound) const;
  // Whatever `process` starts from now on is in them too. False: errno says why.
  bool enter(pid_t process) const;
  // Processes that the kernel killed for want of memory.
  std::uint64_t memory_kills() const;
  // Processes and threads that were refused.
  std::uint64_t refused_forks() const;
  std::uint64_t memory_used() const;  // at most
  // Processes may still be ending: for a while. Called by the destructor.
  void remove();

 private:
  struct Group {
    Bound bound;
    int version;
    std::filesystem::path directory;
  };
  const Group* find(Bound bound) const;
  void try_one(Bound bound, std::uint64_t value, const std::string& name);
  std::vector<Group> groups_;
};

}  // namespace warder
