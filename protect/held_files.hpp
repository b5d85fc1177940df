// Moves what a sandbox left where programs outside would believe it to a place where nobody does.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/fd.hpp"

namespace warder {

class HeldFiles {
 public:
  // `directory`: made, 0700, when the first one comes.
  explicit HeldFiles(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // What `relative` names in the tree, no link being followed, lies at the returned path from now on. `label`: of the
  // tree. Throws std::runtime_error; then it is where it was, or beside that under another name, which the message says.
  std::filesystem::path take(const Fd& root, const std::filesystem::path& relative,
                             const std::string& label);
  // The file with another text, where nothing is now; it belongs to whom its directory does.
  static void put(const Fd& root, const std::filesystem::path& relative, std::string_view text);

 private:
  std::filesystem::path place_for(const std::filesystem::path& relative, const std::string& label);

  std::filesystem::path directory_;
};

}  // namespace warder
