#include "secrets/file_stamp.hpp"

#include <cerrno>
#include <tuple>

namespace warder {
namespace {

FileStamp stamp_of(int result, const struct stat& status) {
  FileStamp stamp;
  if (result != 0) {
    stamp.error = errno;
    return stamp;
  }
  stamp.is_there = true;
  stamp.device = status.st_dev;
  stamp.inode = status.st_ino;
  stamp.size = status.st_size;
  stamp.modified = status.st_mtim;
  stamp.changed = status.st_ctim;
  return stamp;
}

}  // namespace

FileStamp FileStamp::of(const std::filesystem::path& path) {
  struct stat status{};
  const int result = ::stat(path.c_str(), &status);
  return stamp_of(result, status);
}

FileStamp FileStamp::of(int fd) {
  struct stat status{};
  const int result = ::fstat(fd, &status);
  return stamp_of(result, status);
}

bool operator==(const FileStamp& a, const FileStamp& b) {
  const auto all = [](const FileStamp& s) {
    return std::tuple(s.is_there, s.error, s.device, s.inode, s.size, s.modified.tv_sec,
                      s.modified.tv_nsec, s.changed.tv_sec, s.changed.tv_nsec);
  };
  return all(a) == all(b);
}

}  // namespace warder
