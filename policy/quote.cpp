#include "policy/quote.hpp"

#include "base/encoding.hpp"

namespace warder {

std::string yaml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x" + hex_encode({&byte, 1});
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string in_quotes(std::string_view text) {
  if (text.size() <= kMaxQuoted) return yaml_quoted(text);
  std::size_t cut = kMaxQuoted;
  // Never inside a UTF-8 sequence.
  while (cut > 0 && (static_cast<std::uint8_t>(text[cut]) & 0xc0) == 0x80) --cut;
  return yaml_quoted(text.substr(0, cut)) + "…";
}

}  // namespace warder
