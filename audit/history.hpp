// What the runs before left behind, so that a new file can name the one before it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "audit/chain.hpp"

namespace warder::audit {

// The audit files (*.jsonl that begin with a header) of a directory, oldest first.
std::vector<std::filesystem::path> audit_files(const std::filesystem::path& directory);

// "<file> <size> <root>": the newest audit file other than `except` and its last checkpoint (size 0
// and the root of nothing when it has none). Empty: there is no other file.
std::string last_checkpoint_of(const std::filesystem::path& directory,
                               const std::filesystem::path& except = {});

// Such a text taken apart.
struct PreviousRun {
  std::string file;
  std::uint64_t size = 0;
  Digest root{};
  static std::optional<PreviousRun> parse(std::string_view text);
};

}  // namespace warder::audit
