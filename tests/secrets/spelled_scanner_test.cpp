#include "secrets/spelled_scanner.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "tests/secrets/seeded_random.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using warder::test::at_every_split;
using warder::test::SeededRandom;
using Input = SpelledScanner::Input;

namespace {

using Patterns = std::vector<std::string>;

// A hit, and where the bytes end that other matches share with it and with each other.
struct Hit {
  std::size_t begin;
  std::size_t end;
  std::uint32_t pattern;
  Found found;
  std::size_t covered;
  bool operator==(const Hit&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Hit& hit) {
  return out << hit.begin << "-" << hit.end << " #" << hit.pattern
             << (hit.found == Found::spelled ? " spelled" : "") << " to " << hit.covered;
}

// What the scanner means, said plainly and slowly: the whole text read in units, every pattern tried at each.
struct Oracle {
  const Patterns& patterns;
  const CharClass& wanted;

  struct Units {
    std::string characters;
    std::vector<std::size_t> begins;  // one more than characters
    bool cut = false;
  };
  Units read(std::string_view text, TextEnd end) const {
    Units units;
    std::size_t at = 0;
    while (at < text.size()) {
      const Unit unit = read_unit(text.substr(at), wanted, end);
      if (unit.kind == Unit::Kind::cut) break;
      units.begins.push_back(at);
      units.characters += unit.character;
      at += unit.kind == Unit::Kind::raw ? 1 : unit.size;
    }
    units.cut = at < text.size();
    units.begins.push_back(at);
    return units;
  }

  // Calls match(begin, end, pattern) for every one.
  template <class Match>
  void each_match(std::string_view text, Match match) const {
    for (std::size_t begin = 0; begin < text.size(); ++begin) {
      for (std::uint32_t id = 0; id < patterns.size(); ++id) {
        if (text.substr(begin).starts_with(patterns[id])) {
          match(begin, begin + patterns[id].size(), id);
        }
      }
    }
  }
  // Where the longest end that is the beginning of a pattern begins.
  std::size_t live_from(std::string_view text) const {
    for (std::size_t begin = 0; begin < text.size(); ++begin) {
      const std::string_view rest = text.substr(begin);
      for (const std::string& pattern : patterns) {
        if (pattern.size() > rest.size() && pattern.starts_with(rest)) return begin;
      }
    }
    return text.size();
  }

  std::vector<Hit> all(std::string_view text, TextEnd end = TextEnd::final) const {
    std::vector<Hit> matches;
    each_match(text, [&](std::size_t from, std::size_t to, std::uint32_t id) {
      matches.push_back({from, to, id, Found::as_it_stands, to});
    });
    const Units units = read(text, end);
    each_match(units.characters, [&](std::size_t from, std::size_t to, std::uint32_t id) {
      matches.push_back(
          {units.begins[from], units.begins[to], id, Found::spelled, units.begins[to]});
    });
    std::sort(matches.begin(), matches.end(), [](const Hit& a, const Hit& b) {
      return std::tie(a.begin, b.end, a.found) < std::tie(b.begin, a.end, b.found);
    });
    std::vector<Hit> hits;
    for (const Hit& match : matches) {
      if (hits.empty() || match.begin >= hits.back().covered) {
        hits.push_back(match);
      } else {
        hits.back().covered = std::max(hits.back().covered, match.end);
      }
    }
    return hits;
  }

  struct State {
    std::vector<Hit> decided;
    std::size_t settled = 0;
  };
  State after(std::string_view text) const {
    const Units units = read(text, TextEnd::open);
    State state{all(text, TextEnd::open), 0};
    state.settled = std::min(live_from(text), units.begins[live_from(units.characters)]);
    const auto undecided = [&](const Hit& hit) { return hit.begin >= state.settled; };
    state.decided.erase(std::find_if(state.decided.begin(), state.decided.end(), undecided),
                        state.decided.end());
    return state;
  }
};

struct Stream {
  Stream(const Matcher& matcher, const PatternChars& chars) : scanner(matcher, chars) {}
  void feed(std::string_view piece, Input input = Input::more) {
    held.append(piece);
    while (const auto hit = scanner.next(held, input)) {
      const std::size_t end = hit->at.end + gone;
      if (hits.empty() || hit->at.begin + gone >= hits.back().covered) {
        hits.push_back({hit->at.begin + gone, end, hit->at.pattern, hit->found, end});
      } else {
        REQUIRE(end > hits.back().covered);
        hits.back().covered = end;
      }
    }
    const std::size_t settled = scanner.settled();
    held.erase(0, settled);
    gone += settled;
    scanner.drop(settled);
  }
  SpelledScanner scanner;
  std::string held;
  std::size_t gone = 0;
  std::vector<Hit> hits;
};

std::string random_spelling(SeededRandom& random, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  const std::string hex{kHex[byte / 16], kHex[byte % 16]};
  switch (random.below(9)) {
    case 0: return "%" + hex;
    case 1: return "%25" + hex;
    case 2: return "\\u00" + hex;
    case 3: return "\\\\u00" + hex;
    case 4: return "&#" + std::to_string(byte) + ";";
    case 5: return "&amp;#x" + hex + ";";
    case 6: return "\\x" + hex;
    default: return std::string(1, c);
  }
}

// Text of pieces of patterns, some of their characters spelled, and of broken escapes.
std::string random_text(SeededRandom& random, const Patterns& patterns, std::size_t size) {
  const std::vector<std::string> noise{"%", "\\", "&", "&#",  "%2",   "%25",   "\\u00", ";",
                                       "0", "6",  "x", "amp", "\\\\", "&amp;", "u",     " "};
  std::string text;
  while (text.size() < size) {
    if (random.below(3) == 0) {
      text += noise[random.below(static_cast<std::uint32_t>(noise.size()))];
      continue;
    }
    const std::string& pattern =
        patterns[random.below(static_cast<std::uint32_t>(patterns.size()))];
    const std::uint32_t length = static_cast<std::uint32_t>(pattern.size());
    const std::uint32_t begin = random.below(3) == 0 ? random.below(length) : 0;
    const std::uint32_t end = random.below(3) == 0 ? begin + random.below(length - begin) : length;
    for (std::uint32_t i = begin; i < end; ++i) text += random_spelling(random, pattern[i]);
  }
  return text;
}

}  // namespace

TEST_CASE(
    "every split gives the oracle's matches, spelled or not, and holds what the oracle holds") {
  SeededRandom random(71);
  for (int round = 0; round < 600; ++round) {
    // Few letters make overlaps; 6 and % and & are part of escapes themselves.
    const std::string_view letters = round % 4 == 0   ? "ab"
                                     : round % 4 == 1 ? "a6"
                                     : round % 4 == 2 ? "abcd0_"
                                                      : "a%&\\";
    const std::size_t shortest = round % 2 == 0 ? 1 : 4 + random.below(3);
    Patterns patterns;
    for (std::uint32_t i = 0, n = 1 + random.below(5); i < n; ++i) {
      patterns.push_back(random.text(shortest + random.below(6), letters));
    }
    std::sort(patterns.begin(), patterns.end());
    patterns.erase(std::unique(patterns.begin(), patterns.end()), patterns.end());
    const Matcher matcher(patterns);
    const PatternChars chars(patterns);
    const Oracle oracle{patterns, chars.wanted()};
    const std::string text = random_text(random, patterns, 50);
    CAPTURE(patterns, text);
    const std::vector<Hit> all = oracle.all(text);
    at_every_split(text, [&](const std::vector<std::string_view>& pieces) {
      Stream stream(matcher, chars);
      std::size_t fed = 0;
      for (const std::string_view piece : pieces) {
        stream.feed(piece);
        fed += piece.size();
        const auto expected = oracle.after(std::string_view(text).substr(0, fed));
        CAPTURE(fed);
        REQUIRE(stream.hits == expected.decided);
        REQUIRE(stream.gone == expected.settled);
      }
      stream.feed("", Input::last);
      REQUIRE(stream.held.empty());
      REQUIRE(stream.hits == all);
    });
  }
}

TEST_CASE(
    "spelled matches far apart in long texts are found at every distance, in pieces of any size") {
  SeededRandom random(72);
  const Patterns patterns{random.text(40, test::kAlnum), random.text(9, test::kAlnum),
                          random.text(300, test::kAlnum)};
  const Matcher matcher(patterns);
  const PatternChars chars(patterns);
  const Oracle oracle{patterns, chars.wanted()};
  for (int round = 0; round < 150; ++round) {
    std::string text = random.text(random.below(300), "ab %&\\1;\n");
    text += patterns[random.below(3)].substr(0, random.below(9));
    text += random_text(random, patterns, 10);
    text += random.text(random.below(300), "ab %&\\1;\n");
    CAPTURE(text);
    const std::vector<Hit> all = oracle.all(text);
    Stream stream(matcher, chars);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = 1 + random.below(round % 2 ? 200 : 5);
      stream.feed(std::string_view(text).substr(at, size));
      at += size;
    }
    stream.feed("", Input::last);
    REQUIRE(stream.hits == all);
  }
}
