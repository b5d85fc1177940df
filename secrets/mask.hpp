// Value → placeholder in what comes back: streaming, exact. docs/masking.md lists the encodings, and says what is held
// back and why.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "secrets/matcher.hpp"
#include "secrets/respell.hpp"
#include "secrets/spelled_scanner.hpp"
#include "secrets/wiped.hpp"

namespace warder {

// What one session masks: for each secret its value and the encodings of it, and what stands
// instead. Immutable, shared.
class MaskSet {
 public:
  struct Entry {
    std::string_view value;
    std::string_view placeholder;
    std::string name;
  };
  explicit MaskSet(const std::vector<Entry>& entries);
  ~MaskSet();
  MaskSet(const MaskSet&) = delete;
  MaskSet& operator=(const MaskSet&) = delete;

  bool empty() const;
  // True when some replacement has another length than what it replaces: the body must be
  // re-framed.
  bool changes_length() const;
  // Replaces in one whole text (a header value). Returns the number of replacements.
  std::size_t mask(std::string& text) const;

  struct Pattern {
    std::string replacement;
    std::uint32_t secret;       // index into names()
    std::string_view encoding;  // "raw", "base64", "base64url", "hex"; "percent", "json"
  };
  const std::vector<std::string>& names() const { return names_; }

 private:
  friend class Masker;
  SpelledScanner scanner() const { return {*matcher_, *chars_}; }
  // Appends what comes out of `text` from `copied` to the end of `hit`. False: that was only the rest of a value that an earlier
  // hit shares bytes with.
  bool replace(std::string_view text, std::size_t copied, const SpelledScanner::Hit& hit,
               Lengths lengths, std::string& out) const;

  std::unique_ptr<Matcher> matcher_;
  std::unique_ptr<PatternChars> chars_;
  std::vector<Pattern> patterns_;
  // How many bytes at the end of `text` may be the beginning of some form of some value of this
  // shape.
  std::size_t undecided(std::string_view text) const;
  bool fits(char c) const;  // can it be of a word that ends so?

  // Which bytes the forms are made of. The narrowest that fits.
  enum class Shape : std::uint8_t { token, visible, phrase };

  std::vector<std::string> names_;
  bool changes_length_ = false;
  Shape shape_ = Shape::token;
};

// One body on its way back. Not shared.
class Masker {
 public:
  // What of a body's end so far waits for more.
  enum class Holding : std::uint8_t {
    // Only what is at this moment the beginning of a form of a value: nothing else is delayed. For an
    // origin that is granted the secrets: to it their values are known.
    beginnings,
    // The word that it ends in, whatever the values are: the moment at which bytes arrive then tells
    // nothing of them. For every other origin, which may be the sandbox's accomplice.
    words,
  };
  Masker(const MaskSet& set, Holding holding);  // `set` is borrowed: must outlive this
  ~Masker();                                    // what is held back is wiped
  Masker(const Masker&) = delete;
  Masker& operator=(const Masker&) = delete;

  // Returns what may leave now: a view of `in` itself when nothing had to change (no copy), else of
  // `scratch`, which is overwritten; `in` must not lie in it. Any split of the stream gives the
  // same bytes in sum.
  std::string_view feed(std::string_view in, std::string& scratch);
  // The held-back rest at the end of the body.
  std::string_view finish(std::string& scratch);
  // From here on `set`, in what is held back too; the one before is let go of. Where that one kept every length this one
  // has to: a value whose placeholder is longer or shorter becomes as many '*'.
  void go_on_with(const MaskSet& set);
  // How many bytes have come in and not left.
  std::size_t held() const { return held_.size() - left_; }

  struct Count {
    std::string secret;  // its name
    // As in Pattern; of a value that escapes spell "percent", "json" or "html", whichever comes first.
    std::string_view encoding;
    std::uint64_t count;
  };
  const std::vector<Count>& counts() const { return counts_; }

 private:
  std::string_view pass(std::string_view in, SpelledScanner::Input input, std::string& scratch);
  void count(std::string_view found, const SpelledScanner::Hit& hit);
  bool can_wait(std::string_view in) const;

  const MaskSet* set_;
  const Holding holding_;
  const bool keeps_lengths_;
  SpelledScanner scanner_;
  WipedBytes held_;
  // At its front: replaced and gone, but another value may have begun there.
  std::size_t left_ = 0;
  std::size_t unseen_ = 0;  // at its end, not searched yet
  std::vector<Count> counts_;
};

}  // namespace warder
