// Which names a workspace had when its clone was made: what is missing later was removed outside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace warder {

class KnownNames {
 public:
  // Every name below `root`, links not followed, what cannot be listed left out.
  static KnownNames below(const std::filesystem::path& root);
  // Throws std::runtime_error.
  static KnownNames read(const std::filesystem::path& file);
  void write(const std::filesystem::path& file) const;

  // `path` is relative to the root. Two paths may look the same to it, once in 2^64.
  bool have(const std::filesystem::path& path) const;

 private:
  std::vector<std::uint64_t> hashes_;  // sorted
};

}  // namespace warder
