// Shapes that no template describes: a checksum, a JWT, a macaroon.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/random.hpp"

namespace warder {

// GitHub's and npm's: CRC-32 in six characters of base62, '0' in front.
std::string base62_crc32(std::string_view text);

// Header and payload of `value`, of which only public claims are kept, and a random signature; each part as long as the
// value's. nullopt where `value` is no JWT or its signature has under 128 bits.
std::optional<std::string> make_jwt(std::string_view value, Random& random);

// A macaroon that decodes, with the value's location (pypi.org, test.pypi.org) and length, random identifier and
// signature. nullopt where `value` is no such token, or too short for one.
std::optional<std::string> make_pypi(std::string_view value, Random& random);

}  // namespace warder
