#include "audit/file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace warder::audit {
namespace {

error_code last_error() { return {errno, boost::system::system_category()}; }

template <class Call>
int retried(Call call) {
  int result = 0;
  do {
    result = static_cast<int>(call());
  } while (result < 0 && errno == EINTR);
  return result;
}

class PosixFile final : public File {
 public:
  explicit PosixFile(Fd fd) : fd_(std::move(fd)) {}

  Result<std::size_t> write(std::string_view bytes) override {
    ssize_t n = 0;
    do {
      n = ::write(fd_.get(), bytes.data(), bytes.size());
    } while (n < 0 && errno == EINTR);
    if (n < 0) return last_error();
    return static_cast<std::size_t>(n);
  }

  Result<> sync() override {
    // fdatasync is never tried again: after an error the kernel may have dropped the pages.
    if (::fdatasync(fd_.get()) != 0) return last_error();
    return {};
  }

  Result<> allocate(std::uint64_t end) override {
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    if (limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur) {
      return error_code(EFBIG, boost::system::system_category());
    }
    if (retried([&] {
          return ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(end));
        }) == 0) {
      return {};
    }
    if (errno != EOPNOTSUPP && errno != ENOSYS) return last_error();
    return has_room_for(end);
  }

  Result<> truncate(std::uint64_t size) override {
    if (retried([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(size)); }) != 0) {
      return last_error();
    }
    return {};
  }

  Result<FileState> state() override {
    struct stat info{};
    if (::fstat(fd_.get(), &info) != 0) return last_error();
    return FileState{static_cast<std::uint64_t>(info.st_size), info.st_nlink};
  }

 private:
  // For file systems without fallocate: what is free now, which another writer may still take.
  Result<> has_room_for(std::uint64_t end) {
    struct statvfs system{};
    if (::fstatvfs(fd_.get(), &system) != 0) return last_error();
    const Result<FileState> now = state();
    if (!now) return now.error();
    const std::uint64_t room = std::uint64_t{system.f_bavail} * system.f_frsize;
    if (end > now->size + room) return error_code(ENOSPC, boost::system::system_category());
    return {};
  }

  Fd fd_;
};

}  // namespace

std::unique_ptr<File> posix_file(Fd fd) { return std::make_unique<PosixFile>(std::move(fd)); }

std::optional<pid_t> lock_holder(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return std::nullopt;
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "%02x:%02x:%lu", major(info.st_dev), minor(info.st_dev),
                static_cast<unsigned long>(info.st_ino));
  std::ifstream locks("/proc/locks");
  // "1: FLOCK  ADVISORY  WRITE 4242 08:01:131074 0 EOF"
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, where;
    pid_t pid = 0;
    if (!(words >> number >> kind >> advisory >> access >> pid >> where)) continue;
    if (kind == "FLOCK" && where == name.data()) return pid;
  }
  return std::nullopt;
}

}  // namespace warder::audit
