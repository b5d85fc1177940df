// What a program that reads an answer may do to it: decoders of escapes, written for the tests alone.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace warder::test {

inline int hex_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return -1;
  const std::size_t found = std::string_view("0123456789abcdefABCDEF").find(text[at]);
  return found == std::string_view::npos ? -1 : static_cast<int>(found < 16 ? found : found - 6);
}

inline std::string decode_percent(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && hex_at(text, i + 1) >= 0 && hex_at(text, i + 2) >= 0) {
      out += static_cast<char>(hex_at(text, i + 1) * 16 + hex_at(text, i + 2));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

inline std::string decode_json(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    const auto digits = [&](std::size_t from, std::size_t count) {
      int value = 0;
      for (std::size_t d = from; d < from + count; ++d) {
        if (hex_at(text, d) < 0) return -1;
        value = value * 16 + hex_at(text, d);
      }
      return value;
    };
    const int code = next == 'u' ? digits(i + 2, 4) : next == 'x' ? digits(i + 2, 2) : -1;
    if (code >= 0 && code < 0x80) {
      out += static_cast<char>(code);
      i += next == 'u' ? 5 : 3;
    } else if (next == '"' || next == '\\' || next == '/' || next == '\'') {
      out += next;
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

inline std::string decode_html(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 12> kNames{{{"amp", '&'},
                                                                      {"lt", '<'},
                                                                      {"gt", '>'},
                                                                      {"quot", '"'},
                                                                      {"apos", '\''},
                                                                      {"lowbar", '_'},
                                                                      {"plus", '+'},
                                                                      {"equals", '='},
                                                                      {"sol", '/'},
                                                                      {"period", '.'},
                                                                      {"percnt", '%'},
                                                                      {"bsol", '\\'}}};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text[i] == '&' ? text.find(';', i) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += text[i];
      continue;
    }
    const std::string_view body = text.substr(i + 1, end - i - 1);
    int code = -1;
    if (body.size() > 1 && body[0] == '#') {
      const bool hex = body[1] == 'x' || body[1] == 'X';
      code = body.size() > (hex ? 2 : 1) ? 0 : -1;
      for (std::size_t d = hex ? 2 : 1; d < body.size() && code >= 0; ++d) {
        const int digit = hex_at(body, d);
        const int base = hex ? 16 : 10;
        code = digit < 0 || digit >= base || code > 0x7f ? -1 : code * base + digit;
      }
    }
    for (const auto& [name, c] : kNames) {
      if (body == name) code = c;
    }
    if (code < 0 || code > 0x7f) {
      out += text[i];
    } else {
      out += static_cast<char>(code);
      i = end;
    }
  }
  return out;
}

// Does `text` show `value` to anybody who decodes it up to `rounds` times, in whatever order?
inline bool shows(const std::string& text, std::string_view value, int rounds = 5) {
  if (text.find(value) != std::string::npos) return true;
  if (rounds == 0) return false;
  for (const auto decode : {decode_percent, decode_json, decode_html}) {
    const std::string decoded = decode(text);
    if (decoded != text && shows(decoded, value, rounds - 1)) return true;
  }
  return false;
}

}  // namespace warder::test
