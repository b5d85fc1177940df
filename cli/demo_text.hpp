// Text in columns of a terminal: measured, wrapped, padded and painted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace warder {

// Columns that `text` takes: every character of the demo's page is one column wide.
std::size_t columns_of(std::string_view text);

// `text` with spaces up to `width` columns.
std::string padded(std::string text, std::size_t width);

// Lines of at most `width` columns, cut at a space where one is near; further lines begin with `indent` spaces.
std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t indent);

std::string repeated(std::string_view character, std::size_t times);

}  // namespace warder
