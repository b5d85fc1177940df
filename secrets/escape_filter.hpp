// Finds the escapes of a text that can spell a character of some pattern, and passes over all others at the speed of memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/chars.hpp"

namespace warder {

class EscapeFilter {
 public:
  explicit EscapeFilter(const CharClass& wanted);  // the characters of the patterns
  ~EscapeFilter();                                 // wiped
  EscapeFilter(const EscapeFilter&) = delete;
  EscapeFilter& operator=(const EscapeFilter&) = delete;

  // The first byte at or after `from` that may begin an escape of a wanted character, as far as the two bytes behind it tell; text.size() when
  // there is none.
  std::size_t find(std::string_view text, std::size_t from) const;

  // An introducer and the two bytes behind it are looked up by their low and their high halves: what all six have a bit of
  // may be an escape.
  struct Rows {
    alignas(16) std::array<std::uint8_t, 16> low{}, high{};
  };
  using Tables = std::array<Rows, 3>;

 private:
  CharClass wanted_;
  Tables tables_{};
};

}  // namespace warder
