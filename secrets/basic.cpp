#include "secrets/basic.hpp"

#include "http/message.hpp"

namespace warder {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

int sextet(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

}  // namespace

std::optional<BasicToken> find_basic(std::string_view field_value) {
  constexpr std::string_view kScheme = "Basic";
  std::size_t at = 0;
  while (at < field_value.size() && is_blank(field_value[at])) ++at;
  if (!same_name(field_value.substr(at, kScheme.size()), kScheme)) return std::nullopt;
  at += kScheme.size();
  const std::size_t word_end = at;
  while (at < field_value.size() && is_blank(field_value[at])) ++at;
  if (at == word_end) return std::nullopt;
  return BasicToken{field_value.substr(0, at), field_value.substr(at)};
}

std::string decode_leniently(std::string_view text) {
  std::string plain;
  std::uint32_t group = 0;
  unsigned bits = 0;
  for (const char c : text) {
    if (c == '=' || c == ',') bits = 0;  // another text begins
    const int value = sextet(c);
    if (value < 0) continue;
    group = group << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    plain += static_cast<char>(group >> bits & 0xff);
  }
  return plain;
}

std::string encode_like(std::string_view plain, std::string_view as_sent) {
  const bool url = as_sent.find_first_of("-_") != std::string_view::npos;
  const bool padded = as_sent.size() % 4 == 0;
  return base64_encode(plain, url ? Base64Alphabet::url : Base64Alphabet::standard,
                       padded ? Base64Padding::yes : Base64Padding::no);
}

}  // namespace warder
