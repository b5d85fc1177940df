// The configurations that a person has approved: SHA-256 and path, one line each, in the state
// directory. What lies in a workspace may have been written by the program that it is to confine.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace warder {

// SHA-256 in hex.
std::string sha256_hex(std::string_view bytes);

class TrustStore {
 public:
  explicit TrustStore(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // Do these very bytes stand pinned for this file? No on any doubt: no store, a store that others
  // could write, a path that cannot be resolved.
  bool is_trusted(const std::filesystem::path& file, std::string_view bytes) const;

  // Pins them, instead of what was pinned for the file before. The store is replaced as a whole,
  // 0600. Throws std::runtime_error.
  void pin(const std::filesystem::path& file, std::string_view bytes) const;

  std::filesystem::path file() const { return directory_ / "trusted"; }

 private:
  std::filesystem::path directory_;
};

}  // namespace warder
