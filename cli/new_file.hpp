// A file that appears whole or not at all, in a directory that a sandbox may write to meanwhile.
#pragma once

#include <filesystem>
#include <string>

#include "base/fd.hpp"

namespace warder {

class NewFile {
 public:
  // Holds the directory from now on: what becomes of the path to it does not matter any more. Throws ConfigError when it
  // is not there, or the file is and `over` is false.
  NewFile(const std::filesystem::path& file, bool over);

  // Never follows a link at the file's name: one is replaced with `over`, else refused as any other file. Throws
  // RunRefused.
  void write(const std::string& bytes);
  const std::string& name() const { return shown_; }

 private:
  std::string shown_;
  std::string base_;
  bool over_;
  Fd directory_;
};

}  // namespace warder
