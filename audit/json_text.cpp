#include "audit/json_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace warder::audit {
namespace {

constexpr std::size_t kMarkBytes = 32;  // "…[+18446744073709551615]" and what a list puts around it
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// Well-formed UTF-8 only (Unicode table 3-7): no overlong form, no surrogate, nothing past
// U+10FFFF.
Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3FU);
  }
  static constexpr std::array<std::uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[bytes] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {};
  return {code, bytes};
}

// Control characters of both sets, line separators, and the marks that turn the direction of text
// around: a viewer that prints a decoded value should not be fooled by accident either.
bool is_escaped(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

void append_character(std::string& out, std::uint32_t code, std::string_view bytes) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  if (code == '"' || code == '\\') {
    out += '\\';
    out += static_cast<char>(code);
  } else if (code == '\n') {
    out += "\\n";
  } else if (is_escaped(code)) {
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += kHex[code >> shift & 15];
  } else {
    out += bytes;
  }
}

std::string mark(std::size_t left_out) { return "…[+" + std::to_string(left_out) + "]"; }

}  // namespace

void append_escaped(std::string& out, std::string_view text, std::size_t limit) {
  const std::size_t start = out.size();
  const std::size_t keep = limit > kMarkBytes ? limit - kMarkBytes : 0;
  std::size_t cut_out = start;  // where the value ends if it turns out not to fit
  std::size_t cut_in = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = decode(text.substr(at));
    if (character.bytes == 0) {
      out += kReplacement;
      ++at;
    } else {
      append_character(out, character.code, text.substr(at, character.bytes));
      at += character.bytes;
    }
    if (out.size() - start <= keep) {
      cut_out = out.size();
      cut_in = at;
    } else if (out.size() - start > limit) {
      out.resize(cut_out);
      out += mark(text.size() - cut_in);
      return;
    }
  }
}

std::string printable(std::string_view text) {
  std::string out;
  append_escaped(out, text, 16 * 1024);
  return out;
}

std::string harmless(std::string_view json) {
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const Character character = decode(json.substr(at));
    const std::string_view bytes = json.substr(at, std::max<std::size_t>(character.bytes, 1));
    if (character.bytes == 0) {
      out += kReplacement;
    } else if (is_escaped(character.code)) {
      append_character(out, character.code, bytes);
    } else {
      out += bytes;
    }
    at += bytes.size();
  }
  return out;
}

void Members::begin(std::string_view key) {
  if (!first_) out_ += ',';
  first_ = false;
  out_ += '"';
  out_ += key;
  out_ += "\":";
}

Members& Members::text(std::string_view key, std::string_view value, std::size_t limit) {
  begin(key);
  out_ += '"';
  append_escaped(out_, value, limit);
  out_ += '"';
  return *this;
}

Members& Members::texts(std::string_view key, const std::vector<std::string>& values,
                        std::size_t each, std::size_t budget) {
  std::vector<std::string> items;
  std::size_t room = budget;
  for (const std::string& value : values) {
    std::string item = "\"";
    append_escaped(item, value, each);
    item += '"';
    const std::size_t size = item.size() + 1;
    items.push_back(std::move(item));
    if (size > room) break;
    room -= size;
  }
  return list(key, items, values.size(), budget, "\"", "\"");
}

Members& Members::list(std::string_view key, const std::vector<std::string>& items,
                       std::size_t total, std::size_t budget, std::string_view mark_before,
                       std::string_view mark_after) {
  begin(key);
  const std::size_t start = out_.size();
  out_ += '[';
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::size_t used = out_.size() - start + items[i].size() + 2;
    // The last element may use the room that the mark would need.
    const std::size_t room = i + 1 == total ? budget : budget - std::min(budget, kMarkBytes + 16);
    if (i > 0) out_ += ',';
    if (used > room) {
      out_ += mark_before;
      out_ += mark(total - i);
      out_ += mark_after;
      break;
    }
    out_ += items[i];
  }
  out_ += ']';
  return *this;
}

}  // namespace warder::audit
