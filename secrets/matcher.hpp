// Finds any of many patterns in a byte stream: the automaton behind mask and tripwire
// (Aho-Corasick, leftmost-longest). Immutable once built, shared by any threads; a StreamScanner is
// one stream's position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warder {

class Matcher {
 public:
  // Patterns are non-empty and distinct (duplicates: the first one counts). Ids are their indices.
  explicit Matcher(const std::vector<std::string>& patterns);
  ~Matcher();  // wiped: the tables spell the patterns
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  struct Hit {
    std::size_t begin;  // offset in the text
    std::size_t end;
    std::uint32_t pattern;
    bool operator==(const Hit&) const = default;
  };
  // The first hit at or after `from`, leftmost then longest; pattern == npos when none.
  static constexpr std::uint32_t npos = UINT32_MAX;
  Hit find(std::string_view text, std::size_t from = 0) const;
  bool empty() const;
  std::size_t longest() const;

 private:
  friend class StreamScanner;
  friend class ByteScanner;
  friend class UnitScanner;
  struct Tables;
  std::unique_ptr<const Tables> tables_;
};

// Where one stream stands. The caller owns the text: what it still holds followed by what came in.
// It calls next() until there is no hit, lets the first settled() bytes go, and drop()s them here:
//   while (auto hit = scanner.next(text, Input::more)) …
//   const std::size_t leaves = scanner.settled();
//   scanner.drop(leaves);
// The rest must stand at the front of the next text. Any split of a stream gives the same hits.
class StreamScanner {
 public:
  enum class Input : std::uint8_t { more, last };

  explicit StreamScanner(const Matcher& matcher) : matcher_(&matcher) {}  // borrowed

  // The next hit that no later byte can make longer or put an earlier one in the place of. nullopt:
  // all of `text` is scanned. After Input::last the stream is over.
  std::optional<Matcher::Hit> next(std::string_view text, Input input);
  // How many bytes at the front can be part of no undecided hit. What stands behind them is the
  // longest proper prefix of a pattern that the text ends in, or a hit that may still grow with
  // what follows it.
  std::size_t settled() const;
  // Forgets what has begun and reads on at this byte of the text.
  void restart(std::size_t at);
  // The first `n` bytes of the text are gone; n <= settled().
  void drop(std::size_t n);

 private:
  std::optional<Matcher::Hit> decide();

  const Matcher* matcher_;
  std::size_t at_ = 0;       // next byte to read
  std::uint32_t state_ = 0;  // 0: nothing has begun
  std::uint32_t live_ = 0;   // length of the longest prefix that has begun and can go on
  std::optional<Matcher::Hit> pending_;
};

// Driven as StreamScanner is, for what must not miss a match for another that it shares bytes with.
class ByteScanner {
 public:
  explicit ByteScanner(const Matcher& matcher) : matcher_(&matcher) {}  // borrowed

  // In the order in which they end, of those that end together the longest.
  std::optional<Matcher::Hit> next(std::string_view text);
  // No match that is still to come begins before this byte.
  std::size_t settled() const { return at_ - live_; }
  void end() { live_ = 0; }  // the text so far is all
  void drop(std::size_t n) { at_ -= n; }

 private:
  const Matcher* matcher_;
  std::size_t at_ = 0;
  std::uint32_t state_ = 0;
  std::uint32_t live_ = 0;
};

}  // namespace warder
