// The character classes of RFC 9110 section 5.6 and 5.5, as tables.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace warder {

using CharClass = std::array<bool, 256>;

template <class Predicate>
constexpr CharClass char_class(Predicate belongs) {
  CharClass table{};
  for (int c = 0; c < 256; ++c) table[static_cast<unsigned>(c)] = belongs(c);
  return table;
}

constexpr bool is_alnum(int c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// tchar: methods, field names, options.
inline constexpr CharClass kTokenChar = char_class([](int c) {
  return is_alnum(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
});
// What may stand in a field value: visible, obs-text, space and tab.
inline constexpr CharClass kFieldChar =
    char_class([](int c) { return c == '\t' || (c >= ' ' && c != 0x7f); });
// Visible ASCII: request targets.
inline constexpr CharClass kVisible = char_class([](int c) { return c > ' ' && c < 0x7f; });

constexpr bool is_in(const CharClass& table, char c) {
  return table[static_cast<unsigned char>(c)];
}
constexpr bool all_in(const CharClass& table, std::string_view text) {
  return std::all_of(text.begin(), text.end(), [&](char c) { return is_in(table, c); });
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
// -1 when `c` is no hexadecimal digit.
constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = to_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Without leading and trailing spaces and tabs.
constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace warder
