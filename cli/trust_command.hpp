// `warder trust`: approves the warder.yaml of a workspace, and the question whether one was
// approved.
#pragma once

#include <filesystem>
#include <string_view>

namespace warder {

struct TrustArgs {
  std::filesystem::path file = "warder.yaml";
};

// Shows how the file is understood, then pins its SHA-256 in $XDG_STATE_HOME/warder/trusted. 0:
// pinned; 2: the file does not load, or the pin cannot be written.
int trust_command(const TrustArgs& args);

// Were these very bytes pinned for this file? False on any doubt. Pass the bytes that were loaded
// (Config::bytes), never a second reading.
bool is_trusted(const std::filesystem::path& file, std::string_view bytes);

}  // namespace warder
