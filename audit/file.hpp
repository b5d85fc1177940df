// The few things that the audit log asks of a file, so that tests can make each of them fail.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace warder::audit {

struct FileState {
  std::uint64_t size = 0;
  std::uint64_t links = 0;  // 0: deleted
};

class File {
 public:
  virtual ~File() = default;
  virtual Result<std::size_t> write(std::string_view bytes) = 0;  // at the end; may be short
  virtual Result<> sync() = 0;                                    // fdatasync
  virtual Result<> allocate(std::uint64_t end) = 0;  // disk space up to there; the size stays
  virtual Result<> truncate(std::uint64_t size) = 0;
  virtual Result<FileState> state() = 0;
};

std::unique_ptr<File> posix_file(Fd fd);  // opened with O_APPEND

// The process that holds flock(2) on the open file, as /proc/locks tells it; takes no lock itself.
std::optional<pid_t> lock_holder(int fd);

}  // namespace warder::audit
