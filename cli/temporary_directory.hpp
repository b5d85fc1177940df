// A directory of a command's own, gone with this value.
#pragma once

#include <filesystem>
#include <string>

namespace warder {

class TemporaryDirectory {
 public:
  // "PREFIX-XXXXXX" in $TMPDIR, or /tmp; 0700. Throws std::system_error.
  explicit TemporaryDirectory(const std::string& prefix);
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace warder
