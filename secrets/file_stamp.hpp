// Which file, of which content, stands behind a path: to see that it was replaced, rewritten or pointed elsewhere.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <filesystem>

namespace warder {

// Links are followed, so that a link which leads elsewhere is another file. Polled rather than watched by inotify: what has
// to be seen is a change of any link on the way (Kubernetes switches a directory's), on any file system, network ones
// included, and a stat is the same question that the next open asks.
struct FileStamp {
  bool is_there = false;
  int error = 0;  // why not
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t size = 0;
  timespec modified{};
  timespec changed{};  // its owner and mode too

  static FileStamp of(const std::filesystem::path& path);
  static FileStamp of(int fd);
  friend bool operator==(const FileStamp& a, const FileStamp& b);
};

}  // namespace warder
