#include "secrets/escapes.hpp"

#include <algorithm>

#include "http/chars.hpp"

namespace warder {
namespace {

constexpr std::string_view kHex = "0123456789ABCDEF";
constexpr CharClass kUnreserved =
    char_class([](int c) { return is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~'; });
constexpr std::size_t kUnicodeEscape = 6;  // \u0041

struct Unit {
  std::size_t size = 0;  // in the text; 0: no escape
  std::uint32_t code = 0;
  bool is_byte = true;  // else a code point
};

void put(WipedBytes& out, unsigned char byte) { out.push_back(static_cast<char>(byte)); }

void put_utf8(WipedBytes& out, std::uint32_t code) {
  const auto tail = [&](unsigned shift) {
    put(out, static_cast<unsigned char>(0x80 | (code >> shift & 0x3f)));
  };
  if (code < 0x80) {
    put(out, static_cast<unsigned char>(code));
  } else if (code < 0x800) {
    put(out, static_cast<unsigned char>(0xc0 | code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    put(out, static_cast<unsigned char>(0xe0 | code >> 12));
    tail(6);
    tail(0);
  } else {
    put(out, static_cast<unsigned char>(0xf0 | code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

Unit percent_unit(std::string_view text) {
  if (text.size() < 3 || hex_value(text[1]) < 0 || hex_value(text[2]) < 0) return {};
  return {3, static_cast<std::uint32_t>(hex_value(text[1]) * 16 + hex_value(text[2]))};
}

std::uint32_t four_digits(std::string_view text) {
  std::uint32_t code = 0;
  for (const char c : text.substr(0, 4)) {
    if (hex_value(c) < 0) return UINT32_MAX;
    code = code * 16 + static_cast<std::uint32_t>(hex_value(c));
  }
  return code;
}

Unit unicode_unit(std::string_view text) {
  if (text.size() < kUnicodeEscape) return {};
  const std::uint32_t high = four_digits(text.substr(2));
  if (high == UINT32_MAX) return {};
  const bool leads = high >= 0xd800 && high < 0xdc00;
  if (leads && text.size() >= 2 * kUnicodeEscape && text.substr(6, 2) == "\\u") {
    const std::uint32_t low = four_digits(text.substr(8));
    if (low >= 0xdc00 && low < 0xe000)
      return {2 * kUnicodeEscape, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), false};
  }
  return {kUnicodeEscape, high, false};
}

Unit json_unit(std::string_view text) {
  if (text.size() < 2) return {};
  switch (text[1]) {
    case '"':
    case '\\':
    case '/': return {2, static_cast<unsigned char>(text[1])};
    case 'b': return {2, '\b'};
    case 'f': return {2, '\f'};
    case 'n': return {2, '\n'};
    case 'r': return {2, '\r'};
    case 't': return {2, '\t'};
    case 'u': return unicode_unit(text);
    default: return {};
  }
}

constexpr char sign_of(Escapes how) { return how == Escapes::json ? '\\' : '%'; }

}  // namespace

void append_escaped(WipedBytes& out, std::string_view value, Escapes how) {
  out.reserve(out.size() + escaped_size(value, how));
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    const auto put_hex = [&] {
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    };
    if (how == Escapes::percent && !is_in(kUnreserved, c)) {
      out.push_back('%');
      put_hex();
    } else if (how == Escapes::json && byte < ' ') {
      for (const char part : {'\\', 'u', '0', '0'}) out.push_back(part);
      put_hex();
    } else {
      if (how == Escapes::json && (c == '"' || c == '\\')) out.push_back('\\');
      out.push_back(c);
    }
  }
}

std::size_t escaped_size(std::string_view value, Escapes how) {
  std::size_t size = value.size();
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (how == Escapes::percent && !is_in(kUnreserved, c)) size += 2;
    if (how == Escapes::json && byte < ' ') size += kUnicodeEscape - 1;
    if (how == Escapes::json && (c == '"' || c == '\\')) size += 1;
  }
  return size;
}

Unescaped unescape(std::string_view text, Escapes how) {
  Unescaped result;
  result.plain.reserve(text.size());
  const char sign = sign_of(how);
  if (how == Escapes::none || text.find(sign) == std::string_view::npos) {
    result.plain.assign(text.begin(), text.end());
    return result;
  }
  result.begins.reserve(text.size() + 1);
  for (std::size_t at = 0; at < text.size();) {
    Unit unit;
    if (text[at] == sign) {
      const std::string_view rest = text.substr(at);
      unit = how == Escapes::json ? json_unit(rest) : percent_unit(rest);
    }
    if (unit.size == 0) unit = {1, static_cast<unsigned char>(text[at])};
    if (unit.is_byte)
      put(result.plain, static_cast<unsigned char>(unit.code));
    else
      put_utf8(result.plain, unit.code);
    result.begins.resize(result.plain.size(), at);
    at += unit.size;
  }
  result.begins.push_back(text.size());
  return result;
}

std::size_t cut_escape(std::string_view text, Escapes how) {
  if (how == Escapes::none) return 0;
  // "\\" is one unit, so where a unit begins is only known from the front of a run of backslashes.
  const std::size_t longest = how == Escapes::json ? 2 * kUnicodeEscape - 1 : 2;
  const char sign = sign_of(how);
  const std::size_t from = text.size() - std::min(longest, text.size());
  std::size_t at = text.find(sign, from);
  if (at == std::string_view::npos) return 0;
  while (how == Escapes::json && at > 0 && text[at - 1] == sign) --at;
  while (at < text.size()) {
    if (text[at] != sign) {
      ++at;
      continue;
    }
    const std::string_view rest = text.substr(at);
    const Unit unit = how == Escapes::json ? json_unit(rest) : percent_unit(rest);
    const bool may_pair = unit.size == kUnicodeEscape && !unit.is_byte && unit.code >= 0xd800 &&
                          unit.code < 0xdc00 && rest.size() < 2 * kUnicodeEscape;
    const bool may_grow = unit.size == 0 && rest.size() < (how == Escapes::json ? 6 : 3);
    if (may_pair || may_grow) {
      // Only if what is there fits so far.
      const auto digits = [](std::string_view hex) {
        return std::all_of(hex.begin(), hex.end(), [](char c) { return hex_value(c) >= 0; });
      };
      bool fits = true;
      if (how == Escapes::percent) fits = digits(rest.substr(1));
      if (how == Escapes::json && may_grow && rest.size() > 1)
        fits = rest[1] == 'u' && digits(rest.substr(2));
      if (may_pair) {
        const std::string_view behind = rest.substr(kUnicodeEscape);
        fits = std::string_view("\\u").starts_with(behind.substr(0, 2)) &&
               digits(behind.substr(std::min<std::size_t>(2, behind.size())));
      }
      if (fits) return rest.size();
    }
    at += std::max<std::size_t>(unit.size, 1);
  }
  return 0;
}

}  // namespace warder
