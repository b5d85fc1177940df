// The unified difference of two files that nobody trusts, as lines that a terminal can show.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/fd.hpp"

namespace warder {

// What is in a file, as far as it can be shown line by line.
enum class Showable { text, binary, too_large };
inline constexpr std::size_t kMostShown = 4U << 20;  // bytes of a file whose lines are shown

Showable showable(const Fd& file);

using Line = std::function<void(const std::string&)>;

// Every line of `file` with `mark` before it.
void all_lines(const Fd& file, char mark, const Line& line);
// The hunks that `diff -u` finds, without its two header lines. Throws std::runtime_error.
void differing_lines(const Fd& before, const Fd& after, const Line& line);

}  // namespace warder
