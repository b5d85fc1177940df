// The forms that servers make of a path before they route it: what a deny rule must look at besides
// the path as sent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace warder {

enum class EscapedSlash : std::uint8_t { letter, slash };
// Stands for a decoded %2F that is not a separator. Never in a path as sent.
inline constexpr char kSlashLetter = '\x01';

// Escapes decoded once; a broken one stays as it is.
std::string decode_escapes(std::string_view path, EscapedSlash escaped);
// The letters of escapes in upper case, all else as it is.
std::string with_upper_escapes(std::string_view path);
std::string collapse_slashes(std::string_view path);
// "/a;x=1/b" as "/a/b".
std::string cut_parameters(std::string_view path);
// "/a/./b/../c" as "/a/c".
std::string resolve_dots(std::string_view path);

}  // namespace warder
