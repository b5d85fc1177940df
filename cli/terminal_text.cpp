#include "cli/terminal_text.hpp"

#include <cstdint>
#include <cstdio>

namespace warder {
namespace {

// The bytes of the character at the front of `text`, and the character; 0 where it is no UTF-8.
std::size_t decode(std::string_view text, std::uint32_t& character) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  std::size_t length = 1;
  std::uint32_t least = 0;
  if (first < 0x80) {
    character = first;
  } else if ((first & 0xe0) == 0xc0) {
    length = 2, least = 0x80, character = first & 0x1f;
  } else if ((first & 0xf0) == 0xe0) {
    length = 3, least = 0x800, character = first & 0x0f;
  } else if ((first & 0xf8) == 0xf0) {
    length = 4, least = 0x10000, character = first & 0x07;
  } else {
    return 0;
  }
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    character = character << 6 | (byte(i) & 0x3f);
  }
  const bool surrogate = character >= 0xd800 && character <= 0xdfff;
  return character < least || character > 0x10ffff || surrogate ? 0 : length;
}

// Controls, and what changes the order or the look of the text around it without being seen.
bool misleads(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c || c == 0x180e ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff ||
         (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
}

void append(std::string& out, const char* format, std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, format, value);
  out += text;
}

enum class For { name, line };

std::string escaped(std::string_view text, For purpose) {
  std::string out;
  while (!text.empty()) {
    std::uint32_t character = 0;
    const std::size_t length = decode(text, character);
    if (length == 0) {
      append(out, "\\x%02x", static_cast<std::uint8_t>(text[0]));
    } else if (purpose == For::name && character == '\\') {
      out += "\\\\";
    } else if (purpose == For::name && character == '\n') {
      out += "\\n";
    } else if (purpose == For::line && character == '\t') {
      out += '\t';
    } else if (!misleads(character)) {
      out += text.substr(0, length);
    } else if (character < 0x80) {
      append(out, "\\x%02x", character);
    } else {
      append(out, "\\u{%x}", character);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, For::name); }
std::string printable_line(std::string_view line) { return escaped(line, For::line); }

}  // namespace warder
