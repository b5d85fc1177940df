#include "cli/demo_text.hpp"

#include <algorithm>

namespace warder {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// The byte at which `columns` columns of `text` end.
std::size_t byte_after(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (begins_character(text[at]) && columns-- == 0) break;
    ++at;
  }
  return at;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string padded(std::string text, std::size_t width) {
  const std::size_t used = columns_of(text);
  if (used < width) text.append(width - used, ' ');
  return text;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::vector<std::string> lines;
  const std::string lead(indent, ' ');
  for (;;) {
    const std::size_t room = lines.empty() ? width : width - indent;
    const std::string before = lines.empty() ? "" : lead;
    if (columns_of(text) <= room) {
      lines.push_back(before + std::string(text));
      return lines;
    }
    std::size_t end = byte_after(text, room);
    const std::size_t space = text.rfind(' ', end);
    const bool at_word = space != std::string_view::npos && space > end / 2;
    if (at_word) end = space;
    lines.push_back(before + std::string(text.substr(0, end)));
    text.remove_prefix(at_word ? end + 1 : end);
  }
}

std::string repeated(std::string_view character, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += character;
  return out;
}

}  // namespace warder
