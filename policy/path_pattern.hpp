// Which paths a rule means: matched on the path as sent; "*" within a segment, "**" across, a
// trailing
// "/**" also matches the bare parent. %2F is literal for allow; deny tests the decoded form too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace warder {

class PathForms;

class PathPattern {
 public:
  static constexpr std::size_t kMaxBytes = 1024;

  // On failure: a sentence that quotes the text and says the correction.
  static std::variant<PathPattern, std::string> parse(std::string_view text);

  // Linear in path × pattern; no backtracking that an attacker could make exponential. The letters
  // of an escape are alike in either case (%2f, %2F); case matters everywhere else. "*" does not
  // match %2F.
  bool matches(std::string_view path) const;
  // matches(), or matches in any form that a server may make of the path before it routes: escapes
  // decoded (also twice), %2F as a slash and as a letter, "//" as "/", ";parameters" cut, a
  // trailing slash dropped. For deny rules: it refuses too much rather than too little.
  bool matches_any_form(std::string_view path) const;
  // The second half of it, where the forms are there already.
  bool matches_any(const PathForms& forms) const;
  // What every path that it matches, in any form, begins with: up to the first wildcard or escape;
  // but a "*" that is a whole segment is PrefixTree::kAnySegment, and no end.
  std::string prefix() const;
  // "/**": every path.
  bool is_any() const { return text_ == "/**"; }
  const std::string& str() const { return text_; }
  friend bool operator==(const PathPattern& a, const PathPattern& b) { return a.text_ == b.text_; }

 private:
  enum class Kind : std::uint8_t { letter, star, star_star };
  struct Token {
    Kind kind;
    char letter;
  };
  using Tokens = std::vector<Token>;

  explicit PathPattern(std::string text);
  static Tokens tokens_of(std::string_view text);
  static bool run(std::span<const Token> tokens, std::string_view path);
  bool run_decoded(const Tokens& tokens, std::string_view form) const;

  std::string text_;
  std::size_t literal_ = 0;  // bytes before the first wildcard or escape
  Tokens as_sent_;
  Tokens letters_;  // escapes decoded, %2F as kSlashLetter
  Tokens slashes_;  // escapes decoded, %2F as '/'
};

}  // namespace warder
