// Which keys the query of a request has. What an allow rule reads is the plain reading; what a deny
// rule reads is every reading that a server could make of it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace warder {

// A key as a rule lists it: decoded, and without the characters that take a query apart.
class QueryKey {
 public:
  static constexpr std::size_t kMaxBytes = 256;
  // On failure: a sentence that quotes the text and says the correction.
  static std::variant<QueryKey, std::string> parse(std::string_view text);

  const std::string& str() const { return text_; }
  const std::string& folded() const { return folded_; }
  friend bool operator==(const QueryKey& a, const QueryKey& b) { return a.text_ == b.text_; }

 private:
  explicit QueryKey(std::string text);
  std::string text_;
  std::string folded_;
};

// Is each key of the query listed, letter by letter? Both '&' and ';' separate, and an escape is
// decoded once: what could be read as yet another key is none that is listed. True without a query.
bool has_only_keys(std::string_view query, std::span<const QueryKey> listed);

// Every key that a server could find in a query, made alike: escapes decoded up to three times,
// before or after it is taken apart; "key[]" and "key[x]" also as "key"; letters in lower case; a
// dot, a plus and a space as PHP's '_'; cut at a NUL. For deny rules: too many rather than too few.
class AllKeys {
 public:
  explicit AllKeys(std::string_view query);
  bool has_any(std::span<const QueryKey> listed) const;

 private:
  std::vector<std::string> folded_;  // sorted
};

}  // namespace warder
