// Text that somebody else wrote, made harmless for a terminal and honest for a reader.
#pragma once

#include <string>
#include <string_view>

namespace warder {

// On one line: control bytes, what is no UTF-8, and characters that turn or hide text (U+202E, zero-width …) as \xNN or
// \u{N}; the backslash doubled.
std::string printable(std::string_view text);
// The same for a line of a file: tabs stay, and so do backslashes.
std::string printable_line(std::string_view line);

}  // namespace warder
