// Finds the patterns of a Matcher in text as it stands and in text that spells their characters with escapes,
// in one order.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "secrets/clusters.hpp"
#include "secrets/matcher.hpp"
#include "secrets/unit_scanner.hpp"

namespace warder {

// Driven as StreamScanner is. The hits cover each byte of each match, spelled or not. Of matches that share bytes the
// leftmost is a hit, of these the longest; the others are hits that begin before the end of the last one, for what they
// have behind it. Any split of a stream gives the same ones, but for where the latter are cut.
class SpelledScanner {
 public:
  using Input = StreamScanner::Input;
  using Hit = Clusters::Hit;

  SpelledScanner(const Matcher& matcher, const PatternChars& chars)  // borrowed
      : bytes_(matcher), units_(matcher, chars) {}

  std::optional<Hit> next(std::string_view text, Input input);
  // What stands before it may have been covered already: a hit that begins there is still to come.
  std::size_t settled() const;
  void drop(std::size_t n);

 private:
  ByteScanner bytes_;
  UnitScanner units_;
  // What each of them has found and is not in a cluster yet; none when all of the text is scanned.
  std::optional<Matcher::Hit> byte_match_;
  std::optional<Matcher::Hit> unit_match_;
  Clusters clusters_;
};

}  // namespace warder
