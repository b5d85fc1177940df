#include "secrets/respell.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "secrets/spelling.hpp"

namespace warder {
namespace {

enum class HexCase : std::uint8_t { upper, lower };

char digit_char(unsigned value, HexCase hex_case) {
  return (hex_case == HexCase::upper ? "0123456789ABCDEF" : "0123456789abcdef")[value];
}

// `count` digits, the first ones zero; nullopt when they are too few.
std::optional<std::string> digits_of(char c, unsigned base, std::size_t count, HexCase hex_case) {
  std::string text(count, '0');
  unsigned value = static_cast<unsigned char>(c);
  for (std::size_t i = count; i-- > 0; value /= base) text[i] = digit_char(value % base, hex_case);
  if (value != 0) return std::nullopt;
  return text;
}

constexpr CharClass kAny = char_class([](int) { return true; });

// Puts `c` in the place of the character that `unit`, an escape, spells. False: not in this way and length.
// `hex_case` is for where the unit does not show its own.
bool overwrite(std::string& unit, const CharClass& wanted, char c, HexCase hex_case) {
  Digits digits;
  read_unit(unit, wanted, TextEnd::final, &digits);
  if (digits.form == Digits::Form::none || static_cast<unsigned char>(c) >= 0x80) return false;
  if (digits.form == Digits::Form::name) {
    const auto [begin, end] = digits.spans[0];
    const std::size_t size = end - begin;
    const auto number = digits_of(c, 10, size - 2, hex_case);  // but for `#` and `;`
    if (size < 4 || !number) return false;
    unit.replace(begin, size, "#" + *number + ";");
    return true;
  }
  for (std::size_t i = 0; i < digits.count; ++i) {
    const char digit = unit[digits.spans[i].begin];
    if (digit >= 'a' && digit <= 'f') hex_case = HexCase::lower;
    if (digit >= 'A' && digit <= 'F') hex_case = HexCase::upper;
  }
  const unsigned base = digits.form == Digits::Form::hex ? 16 : 10;
  const auto number = digits_of(c, base, digits.count, hex_case);
  if (!number) return false;
  std::string written = unit;
  for (std::size_t i = 0; i < digits.count; ++i) {
    const auto [begin, end] = digits.spans[i];
    std::string digit = written.substr(begin, end - begin);
    if (digit.size() == 1) {
      digit[0] = (*number)[i];
    } else if (!overwrite(digit, kAny, (*number)[i], hex_case)) {
      return false;
    }
    written.replace(begin, digit.size(), digit);
  }
  unit = std::move(written);
  return true;
}

HexCase habit_of(std::string_view spelled) {
  const auto in_escape = [&](char first, char last) {
    for (std::size_t at = spelled.find_first_of("%\\"); at < spelled.size();
         at = spelled.find_first_of("%\\", at + 1)) {
      const std::string_view digits = spelled.substr(at + 1, spelled[at] == '%' ? 2 : 5);
      if (std::any_of(digits.begin(), digits.end(),
                      [&](char c) { return c >= first && c <= last; })) {
        return true;
      }
    }
    return false;
  };
  if (in_escape('a', 'f')) return HexCase::lower;
  return in_escape('A', 'F') || spelled.find('%') != std::string_view::npos ? HexCase::upper
                                                                            : HexCase::lower;
}

// A character of the replacement, as it will be written.
struct Piece {
  std::string text;
  char character;
};

std::string numeric_entity(char c, std::size_t size) {
  const auto number = digits_of(c, 10, size - 3, HexCase::lower);
  return number ? "&#" + *number + ";" : "";
}

// Makes one of the plain pieces longer by `surplus`. False: none can be.
bool give(std::vector<Piece>& pieces, std::size_t surplus) {
  if (surplus < 4) return false;
  for (Piece& piece : pieces) {
    const bool plain = piece.text.size() == 1 && static_cast<unsigned char>(piece.character) < 0x80;
    std::string entity = plain ? numeric_entity(piece.character, 1 + surplus) : "";
    if (entity.empty()) continue;
    piece.text = std::move(entity);
    return true;
  }
  return false;
}

}  // namespace

std::string respell(std::string_view spelled, const CharClass& wanted, std::string_view replacement,
                    Lengths lengths) {
  const HexCase hex_case = habit_of(spelled);
  std::vector<Piece> pieces;
  pieces.reserve(replacement.size());
  std::size_t surplus = 0;
  std::size_t done = 0;
  for (std::size_t at = 0; at < spelled.size() && done < replacement.size(); ++done) {
    const Unit unit = read_unit(spelled.substr(at), wanted, TextEnd::final);
    std::string text(spelled.substr(at, unit.size));
    at += unit.size;
    const char c = replacement[done];
    if (text.size() == 1 || !overwrite(text, wanted, c, hex_case)) {
      const std::size_t left = text.size() - 1;
      if (lengths == Lengths::follow) {
        text = c;
      } else if (text[0] == '&') {
        text = c;
        surplus += left;
      } else {
        text = c + std::string(left, ' ');
      }
    }
    pieces.push_back({std::move(text), c});
  }
  const bool given = surplus == 0 || give(pieces, surplus);
  std::string written;
  written.reserve(spelled.size() + replacement.size());
  for (const Piece& piece : pieces) written += piece.text;
  if (!given) written.append(surplus, ' ');
  return written.append(replacement.substr(done));
}

std::string_view spelling_name(std::string_view spelled, const CharClass& wanted) {
  for (std::size_t at = 0; at < spelled.size();) {
    const Unit unit = read_unit(spelled.substr(at), wanted, TextEnd::final);
    if (unit.kind == Unit::Kind::escape) {
      return spelled[at] == '%' ? "percent" : spelled[at] == '&' ? "html" : "json";
    }
    at += unit.size;
  }
  return "raw";
}

}  // namespace warder
