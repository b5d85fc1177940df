// Finds the patterns of a Matcher in text that spells some of their characters with escapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/chars.hpp"
#include "secrets/escape_filter.hpp"
#include "secrets/matcher.hpp"
#include "secrets/spelling.hpp"
#include "secrets/wiped.hpp"

namespace warder {

// What of the patterns decides whether an escape is worth a look. Immutable, shared.
class PatternChars {
 public:
  explicit PatternChars(const std::vector<std::string>& patterns);
  ~PatternChars();  // wiped
  PatternChars(const PatternChars&) = delete;
  PatternChars& operator=(const PatternChars&) = delete;

  // The characters that occur in some pattern.
  const CharClass& wanted() const { return wanted_; }
  const EscapeFilter& escapes() const { return escapes_; }
  // False when no pattern holds these three in a row.
  bool may_hold(char a, char b, char c) const;
  // The same of any three in a row, one of which is the escape at `at`, where they are known.
  bool may_hold(std::string_view text, std::size_t at, const Unit& escape) const;

 private:
  static CharClass in_some(const std::vector<std::string>& patterns);

  CharClass wanted_;
  const EscapeFilter escapes_;
  WipedVector<std::uint64_t> grams_;
  unsigned gram_bits_ = 0;
  std::size_t shortest_ = SIZE_MAX;
};

// One stream's position, driven as ByteScanner is. It walks the automaton over units (spelling.hpp), but only
// where an escape could be part of a match: from as many bytes before it as the patterns allow, until what has
// begun holds no escape any more. It finds the matches that hold an escape.
class UnitScanner {
 public:
  using Input = StreamScanner::Input;

  UnitScanner(const Matcher& matcher, const PatternChars& chars)  // borrowed
      : matcher_(&matcher), chars_(&chars) {}

  std::optional<Matcher::Hit> next(std::string_view text, Input input);
  // As of ByteScanner, for matches whose first escape has been read.
  std::size_t settled() const;
  void end() { leave(); }
  void drop(std::size_t n);

 private:
  Unit enter(std::string_view text, Input input);
  Unit read(std::string_view text, Input input) const;
  std::optional<Matcher::Hit> step(char character, std::size_t size);
  void leave();
  std::size_t first_byte(std::uint64_t unit) const;

  const Matcher* matcher_;
  const PatternChars* chars_;
  std::size_t at_ = 0;     // next byte to read
  std::size_t floor_ = 0;  // no match begins before it any more
  bool walking_ = false;   // through the automaton; else looking for an escape
  std::uint32_t state_ = 0;
  std::uint32_t live_ = 0;  // units of the longest prefix that has begun and can go on
  std::uint64_t units_ = 0;
  std::uint64_t raw_ = 0;  // units since the last escape
  // Where each of the last units begins, modulo 2^32; `gone_` is the text's own place in that count.
  std::vector<std::uint32_t> begins_;
  std::uint32_t gone_ = 0;
};

}  // namespace warder
