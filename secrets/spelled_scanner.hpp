// Finds the patterns of a Matcher in text as it stands and in text that spells their characters with escapes,
// in one order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "secrets/matcher.hpp"
#include "secrets/unit_scanner.hpp"

namespace warder {

// Driven as StreamScanner is, and with the same promises: of all matches, spelled or not, the leftmost wins,
// then the longest; they do not overlap; any split of a stream gives the same ones.
class SpelledScanner {
 public:
  using Input = StreamScanner::Input;
  enum class Found : std::uint8_t { as_it_stands, spelled };
  struct Hit {
    Matcher::Hit at;
    Found found;
  };

  SpelledScanner(const Matcher& matcher, const PatternChars& chars)  // borrowed
      : bytes_{StreamScanner(matcher), {}}, units_{UnitScanner(matcher, chars), {}} {}

  std::optional<Hit> next(std::string_view text, Input input);
  std::size_t settled() const;
  void drop(std::size_t n);

 private:
  // A scanner, and the hit that it is ahead with.
  template <class Scanner>
  struct Side {
    Scanner scanner;
    std::optional<Matcher::Hit> hit;

    void advance(std::string_view text, Input input) {
      if (!hit) hit = scanner.next(text, input);
    }
    // Where the next hit that it may report begins, at the earliest.
    std::size_t settled() const { return hit ? hit->begin : scanner.settled(); }
    void go_on_after(std::size_t end);
    void drop(std::size_t n);
  };

  Side<StreamScanner> bytes_;
  Side<UnitScanner> units_;
};

}  // namespace warder
