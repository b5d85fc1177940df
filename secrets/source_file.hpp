// A secret in a file, looked at again and again: a new content is a rotation, a file that stays away is a revocation.
#pragma once

#include <filesystem>
#include <memory>

#include "secrets/source.hpp"
#include "secrets/wiped.hpp"

namespace warder {

// How long a file may be away before its secret is revoked: some tools remove it and write it anew.
inline constexpr std::chrono::seconds kFileGrace{5};

// A regular file (symbolic links are followed: mounted secrets are made of them). Exactly one trailing line break is taken
// off. A change is read once two looks in a row saw the same file: a file that is being written in place is not taken
// by half.
std::unique_ptr<SecretSource> file_source(std::filesystem::path path);

// Up to `bytes.size()` bytes from `fd`; shrinks it to what was read. Returns an errno.
int read_up_to(int fd, WipedBytes& bytes);

}  // namespace warder
