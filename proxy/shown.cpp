#include "proxy/shown.hpp"

#include "audit/json_text.hpp"
#include "base/encoding.hpp"

namespace warder {

std::string shown_ascii(std::string_view text, std::size_t limit) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at == limit) return out + "…[+" + std::to_string(text.size() - at) + "]";
    const auto byte = static_cast<std::uint8_t>(text[at]);
    if (byte == '\\')
      out += "\\\\";
    else if (byte >= 0x20 && byte < 0x7f)
      out += text[at];
    else
      out += "\\x" + hex_encode({&byte, 1});
  }
  return out;
}

// As in a record, but for the quotes, which a terminal does not mind.
std::string shown_text(std::string_view text, std::size_t limit) {
  std::string escaped;
  audit::append_escaped(escaped, text, limit);
  std::string out;
  for (std::size_t at = 0; at < escaped.size(); ++at) {
    const bool quote = escaped[at] == '\\' && at + 1 < escaped.size() && escaped[at + 1] == '"';
    if (quote) ++at;
    out += escaped[at];
    if (!quote && escaped[at] == '\\') out += escaped[++at];
  }
  return out;
}

}  // namespace warder
