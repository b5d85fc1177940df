// The log's key on disk: a 32-byte Ed25519 seed that only its owner can read.
#pragma once

#include <filesystem>

#include "audit/note.hpp"

namespace warder::audit {

// Throws std::runtime_error with a sentence when the file is missing, a link, readable by others,
// somebody else's, or not a seed.
SigningKey read_key(const std::filesystem::path& file);

// Makes the file (0600) and its directory (0700) when missing. Processes that race end with one
// key.
SigningKey read_or_make_key(const std::filesystem::path& file);

// Makes missing directories with 0700.
void make_private_directory(const std::filesystem::path& directory);

// So that a name survives a power cut. Throws.
void sync_directory(const std::filesystem::path& directory);

}  // namespace warder::audit
