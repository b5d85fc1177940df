#include "secrets/matcher.hpp"

#include <algorithm>

#include "tests/secrets/seeded_random.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using warder::test::at_every_split;
using warder::test::SeededRandom;
using Input = StreamScanner::Input;
using Hit = Matcher::Hit;

namespace {

using Patterns = std::vector<std::string>;

// What the matcher means, said plainly and slowly.
struct Oracle {
  const Patterns& patterns;

  Hit leftmost_longest(std::string_view text, std::size_t from) const {
    for (std::size_t begin = from; begin < text.size(); ++begin) {
      Hit best{begin, begin, Matcher::npos};
      for (std::uint32_t id = 0; id < patterns.size(); ++id) {
        if (!text.substr(begin).starts_with(patterns[id])) continue;
        if (begin + patterns[id].size() > best.end) best = {begin, begin + patterns[id].size(), id};
      }
      if (best.pattern != Matcher::npos) return best;
    }
    return {text.size(), text.size(), Matcher::npos};
  }

  // Where the longest end of `text` that is a proper prefix of a pattern begins.
  std::size_t live_from(std::string_view text, std::size_t from) const {
    for (std::size_t begin = from; begin < text.size(); ++begin) {
      for (const std::string& pattern : patterns) {
        const std::string_view rest = text.substr(begin);
        if (pattern.size() > rest.size() && pattern.starts_with(rest)) return begin;
      }
    }
    return text.size();
  }

  struct State {
    std::vector<Hit> decided;
    std::size_t settled;
  };
  State after(std::string_view text) const {
    State state{{}, 0};
    std::size_t from = 0;
    for (;;) {
      const Hit hit = leftmost_longest(text, from);
      const std::size_t live = live_from(text, from);
      if (hit.pattern == Matcher::npos || live <= hit.begin) {
        state.settled = std::min(hit.begin, live);
        return state;
      }
      state.decided.push_back(hit);
      from = hit.end;
    }
  }

  std::vector<Hit> all(std::string_view text) const {
    std::vector<Hit> hits;
    for (Hit hit = leftmost_longest(text, 0); hit.pattern != Matcher::npos;
         hit = leftmost_longest(text, hit.end)) {
      hits.push_back(hit);
    }
    return hits;
  }
};

// A stream as its owner drives it, in offsets of the whole stream.
struct Stream {
  explicit Stream(const Matcher& matcher) : scanner(matcher) {}
  void feed(std::string_view piece, Input input = Input::more) {
    held.append(piece);
    while (const auto hit = scanner.next(held, input)) {
      hits.push_back({hit->begin + gone, hit->end + gone, hit->pattern});
    }
    const std::size_t settled = scanner.settled();
    held.erase(0, settled);
    gone += settled;
    scanner.drop(settled);
  }
  StreamScanner scanner;
  std::string held;
  std::size_t gone = 0;
  std::vector<Hit> hits;
};

std::vector<Hit> find_all(const Matcher& matcher, std::string_view text) {
  std::vector<Hit> hits;
  for (Hit hit = matcher.find(text); hit.pattern != Matcher::npos;
       hit = matcher.find(text, hit.end)) {
    hits.push_back(hit);
  }
  return hits;
}

}  // namespace

TEST_CASE("the leftmost match wins, then the longest; matches do not overlap") {
  const Matcher matcher({"bcd", "abcde", "ab", "abc"});
  CHECK(matcher.longest() == 5);
  CHECK(find_all(matcher, "abcdx") == std::vector<Hit>{{0, 3, 3}});
  CHECK(find_all(matcher, "abcde") == std::vector<Hit>{{0, 5, 1}});
  CHECK(find_all(matcher, "xbcdab") == std::vector<Hit>{{1, 4, 0}, {4, 6, 2}});
  CHECK(find_all(matcher, "") == std::vector<Hit>{});
  CHECK(matcher.find("ab ab", 1) == Hit{3, 5, 2});
}

TEST_CASE("a matcher of nothing finds nothing and holds nothing") {
  const Matcher matcher({});
  CHECK(matcher.empty());
  CHECK(matcher.find("anything").pattern == Matcher::npos);
  Stream stream(matcher);
  stream.feed("anything");
  CHECK(stream.held.empty());
}

TEST_CASE("of equal patterns the first one counts") {
  CHECK(Matcher({"same", "same"}).find("same").pattern == 0);
}

TEST_CASE("a match that nothing can prolong is known with its last byte") {
  const Matcher matcher({"sk-stub-PH", "sk-stub-PH_1", "PHX"});
  Stream stream(matcher);
  stream.feed("..sk-stub-P");
  CHECK(stream.held == "sk-stub-P");
  stream.feed("H");  // may become sk-stub-PH_1
  CHECK(stream.hits.empty());
  CHECK(stream.held == "sk-stub-PH");
  stream.feed("_1");
  CHECK(stream.hits == std::vector<Hit>{{2, 14, 1}});
  CHECK(stream.held.empty());
  stream.feed("sk-stub-PHX");  // no: the X ends the longer one, and begins no match
  CHECK(stream.hits.back() == Hit{14, 24, 0});
  CHECK(stream.held.empty());
}

TEST_CASE("every split of every text gives the oracle's matches and holds what the oracle holds") {
  SeededRandom random(66);
  for (int round = 0; round < 400; ++round) {
    // Few letters make overlaps and prefixes of prefixes; sizes on both sides of where skipping
    // begins.
    const std::string_view letters = round % 3 == 0 ? "ab" : "abc";
    const std::size_t shortest = round % 2 == 0 ? 1 : 4 + random.below(3);
    Patterns patterns;
    for (std::uint32_t i = 0, n = 1 + random.below(6); i < n; ++i) {
      patterns.push_back(random.text(shortest + random.below(6), letters));
    }
    const Oracle oracle{patterns};
    const Matcher matcher(patterns);
    const std::string text = random.text(60, letters);
    CAPTURE(patterns, text);
    // Ids of equal patterns: both say the first.
    REQUIRE(find_all(matcher, text) == oracle.all(text));
    at_every_split(text, [&](const std::vector<std::string_view>& pieces) {
      Stream stream(matcher);
      std::size_t fed = 0;
      for (const std::string_view piece : pieces) {
        stream.feed(piece);
        fed += piece.size();
        const auto expected = oracle.after(text.substr(0, fed));
        REQUIRE(stream.gone == expected.settled);
        REQUIRE(stream.hits == expected.decided);
      }
      stream.feed("", Input::last);
      REQUIRE(stream.held.empty());
      REQUIRE(stream.hits == oracle.all(text));
    });
  }
}

TEST_CASE("skipping leaps over no match, wherever it stands") {
  SeededRandom random(67);
  for (const std::size_t size : {4, 5, 8, 40, 64, 65, 200}) {
    const Patterns patterns{random.bytes(size), random.bytes(size + 3), random.bytes(size + 90)};
    const Matcher matcher(patterns);
    for (std::size_t before = 0; before < 150; ++before) {
      const std::uint32_t id = random.below(3);
      const std::string text = random.bytes(before) + patterns[id] + random.bytes(random.below(80));
      REQUIRE(find_all(matcher, text) == Oracle{patterns}.all(text));
    }
  }
}

TEST_CASE("text made to fool the skipping costs no more than reading it") {
  const Matcher matcher({std::string(5000, 'a') + "b", std::string(4999, 'a') + "c"});
  const std::string text(1 << 20, 'a');
  Stream stream(matcher);
  for (std::size_t at = 0; at < text.size(); at += 4096)
    stream.feed(std::string_view(text).substr(at, 4096));
  CHECK(stream.hits.empty());
  CHECK(stream.held.size() == 5000);
}
