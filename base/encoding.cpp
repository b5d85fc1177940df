#include "base/encoding.hpp"

#include <array>

namespace warder {
namespace {

constexpr std::string_view kStandard =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrl =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<std::int8_t, 256> decode_table() {
  std::array<std::int8_t, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < 64; ++i) {
    table[static_cast<std::uint8_t>(kStandard[i])] = static_cast<std::int8_t>(i);
    table[static_cast<std::uint8_t>(kUrl[i])] = static_cast<std::int8_t>(i);
  }
  return table;
}

}  // namespace

std::string base64_encode(std::string_view bytes, Base64Alphabet alphabet, Base64Padding padding) {
  const std::string_view letters = alphabet == Base64Alphabet::url ? kUrl : kStandard;
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    const auto at = [&](std::size_t k) -> std::uint32_t {
      return k < left ? static_cast<std::uint8_t>(bytes[i + k]) : 0U;
    };
    const std::uint32_t group = at(0) << 16 | at(1) << 8 | at(2);
    out += letters[group >> 18 & 63];
    out += letters[group >> 12 & 63];
    if (left > 1) out += letters[group >> 6 & 63];
    if (left > 2) out += letters[group & 63];
    if (padding == Base64Padding::yes && left < 3) out.append(3 - left, '=');
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  static constexpr auto kTable = decode_table();
  if (text.ends_with('=')) {
    if (text.size() % 4 != 0) return std::nullopt;
    text.remove_suffix(text.ends_with("==") ? 2 : 1);
  }
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t group = 0;
  unsigned bits = 0;
  bool standard = false;
  bool url = false;
  for (const char c : text) {
    const int value = kTable[static_cast<std::uint8_t>(c)];
    if (value < 0) return std::nullopt;
    standard |= c == '+' || c == '/';
    url |= c == '-' || c == '_';
    group = group << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(group >> bits & 0xff);
    }
  }
  if (standard && url) return std::nullopt;
  if ((group & ((1U << bits) - 1)) != 0) return std::nullopt;
  return out;
}

std::string hex_encode(std::span<const std::uint8_t> bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace warder
