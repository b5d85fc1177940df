// Checkpoints that were kept away from the log: what makes a cut tail visible.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "audit/note.hpp"
#include "base/fd.hpp"

namespace warder::audit {

// A signed note, or a copy of an audit file, whose last checkpoint counts. nullopt: `why` says it.
// The signature is not checked here.
std::optional<SignedNote> read_anchor(const std::filesystem::path& file, std::string& why);

// A regular file, never a pipe that would make a reader wait.
Fd open_for_reading(const std::filesystem::path& file, std::string& why);

}  // namespace warder::audit
