// How many of the process's open files one session may hold, so that one sandbox leaves some for the next. Pure but for
// the limit that it begins with.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <sys/resource.h>

namespace warder {

// Thread-safe.
class FileBudget {
 public:
  static std::uint64_t of_process() {
    rlimit files{};
    return ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : 1024;
  }
  explicit FileBudget(std::uint64_t files = of_process()) : files_(files) {}

  // Sockets of one kind that one session may have open: of its clients, to its origins, or to those that are not looked
  // at. The share of one that is still to come is left free.
  std::uint64_t of_each() const {
    const std::uint64_t free = files_ - std::min(files_, kReserve);
    return std::max<std::uint64_t>(free / (sessions + 1) / kKinds, kLeast);
  }

  std::atomic<std::uint64_t> sessions{0};  // that are open

 private:
  static constexpr std::uint64_t kReserve = 96;  // log, listeners, sources, admin socket
  static constexpr std::uint64_t kKinds = 3;
  static constexpr std::uint64_t kLeast = 4;
  const std::uint64_t files_;
};

}  // namespace warder
