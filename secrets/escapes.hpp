// How the text around a place spells bytes: percent-encoding, JSON strings, or as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "secrets/wiped.hpp"

namespace warder {

enum class Escapes : std::uint8_t { none, percent, json };

// Appends `value` as it has to be spelt there: percent keeps RFC 3986's unreserved characters only;
// json escapes `"`, `\` and controls.
void append_escaped(WipedBytes& out, std::string_view value, Escapes how);
std::size_t escaped_size(std::string_view value, Escapes how);

// What a text spells, and where each byte of that comes from.
struct Unescaped {
  WipedBytes plain;
  // Of each byte of `plain`, where its spelling begins in the text, and the text's end. Empty: each
  // byte stands for itself.
  std::vector<std::size_t> begins;
  std::size_t begin_of(std::size_t at) const { return begins.empty() ? at : begins[at]; }
};
// What is no whole escape stands for itself, as lenient parsers have it.
Unescaped unescape(std::string_view text, Escapes how);
// How many bytes at the end of `text` may be the beginning of an escape that is cut there.
std::size_t cut_escape(std::string_view text, Escapes how);

}  // namespace warder
