// Writes the placeholder in the manner in which the value was spelled.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/chars.hpp"

namespace warder {

enum class Lengths : std::uint8_t {
  keep,    // as long as what it replaces, if there are as many characters
  follow,  // as long as it has to be
};

// `spelled` is read in units (spelling.hpp, `wanted`): in place of each stands a character of `replacement`,
// escaped in the same way where that way can spell it in the same length. What is left over of `replacement`
// follows as it stands. To keep the length where a short HTML entity had to give way, another character is an
// entity with leading zeros; where a short JSON escape had to, a space follows.
std::string respell(std::string_view spelled, const CharClass& wanted, std::string_view replacement,
                    Lengths lengths);

// "percent", "json" or "html", by the first escape in `spelled`.
std::string_view spelling_name(std::string_view spelled, const CharClass& wanted);

}  // namespace warder
