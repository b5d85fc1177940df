// Makes the random token that a sandbox holds instead of a value.
#pragma once

#include <string>
#include <string_view>

#include "base/random.hpp"

namespace warder {

inline constexpr std::size_t kMinSecretBytes = 8;
inline constexpr std::size_t kMaxSecretBytes = 16 * 1024;

// Keeps a well-known prefix of the value ("ghp_", "sk-ant-api03-" …: docs/masking.md lists them)
// and its length; the rest is base62 of at least 128 random bits: where the value is too short for
// that, the placeholder is longer, by a multiple of 3 (so that base64 of what surrounds it stays in
// place). Never equal to the value, and nothing of the value is kept but the prefix; no end of the
// placeholder is a beginning of the value nor the other way round, so that masking cannot put the
// value together.
std::string make_placeholder(std::string_view value, Random& random);

}  // namespace warder
