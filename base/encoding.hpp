// Base64 (RFC 4648) and hex, the text forms of bytes that more than one part needs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace warder {

enum class Base64Alphabet : std::uint8_t { standard, url };
enum class Base64Padding : bool { no, yes };

std::string base64_encode(std::string_view bytes,
                          Base64Alphabet alphabet = Base64Alphabet::standard,
                          Base64Padding padding = Base64Padding::yes);
// Strict: one alphabet or the other, padding right or absent, no white space, no stray trailing bits.
std::optional<std::string> base64_decode(std::string_view text);

std::string hex_encode(std::span<const std::uint8_t> bytes);
inline std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace warder
