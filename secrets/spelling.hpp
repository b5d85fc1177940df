// The escapes in which a text may spell a character: those of URLs, of JSON and of HTML, within each
// other too. docs/masking.md lists them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/chars.hpp"

namespace warder {

// No character is looked for in more bytes than this.
inline constexpr std::size_t kMaxUnit = 32;

constexpr bool begins_escape(char c) { return c == '%' || c == '\\' || c == '&'; }
// Can these three bytes be the beginning of an escape that spells one of `wanted`? `first` begins_escape.
bool may_spell(char first, char second, char third, const CharClass& wanted);
// Can `first` and the bytes behind it? True also for one that is not whole, and for some that turn out to be none.
bool may_spell(char first, std::string_view rest, const CharClass& wanted);

// The next character of a text as the most thorough of decoders would read it.
struct Unit {
  enum class Kind : std::uint8_t {
    raw,     // a byte that stands for itself; where size > 1, so many bytes
    escape,  // `size` bytes that spell `character`
    cut,     // what comes next decides
  };
  Kind kind;
  char character;
  std::size_t size;
};

// Where the digits stand that an escape spells its character with, and what can be written there.
struct Digits {
  enum class Form : std::uint8_t { none, hex, decimal, name };
  struct Span {
    std::uint8_t begin;
    std::uint8_t end;  // more than one byte: the digit is an escape itself
  };
  Form form = Form::none;
  std::uint8_t count = 0;
  std::array<Span, kMaxUnit>
      spans;  // `count` of them; name: one, from behind the `&` to behind the `;`
};

enum class TextEnd : std::uint8_t { open, final };

// Reads at the front of `text`, which is not empty. An escape counts only if it spells one of `wanted`: of
// `%2541` that is `A`, or else `%`, or else it is no escape. `digits`, when given, says how.
Unit read_unit(std::string_view text, const CharClass& wanted, TextEnd end,
               Digits* digits = nullptr);

}  // namespace warder
