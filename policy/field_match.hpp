// What a rule asks of the header fields of a request.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "http/message.hpp"

namespace warder {

// The value of a field: text in which "*" stands for any run; "*" alone: the field is there.
class ValuePattern {
 public:
  static constexpr std::size_t kMaxBytes = 256;
  // On failure: a sentence that quotes the text and says the correction.
  static std::variant<ValuePattern, std::string> parse(std::string_view text);

  // For an allow rule: letter by letter, and a run has no comma in it, because a comma begins
  // another value of the same field (RFC 9110 section 5.3).
  bool fits(std::string_view value) const;
  // For a deny rule, of a value in lower case: a run is any.
  bool fits_lowered(std::string_view value) const;
  const std::string& str() const { return text_; }
  friend bool operator==(const ValuePattern& a, const ValuePattern& b) {
    return a.text_ == b.text_;
  }

 private:
  explicit ValuePattern(std::string text);
  std::string text_;
  std::string lowered_;
};

// One field of a rule's `headers`.
class FieldMatch {
 public:
  // `name` is a token; it is kept in lower case.
  FieldMatch(std::string name, std::vector<ValuePattern> values);

  const std::string& name() const { return name_; }
  const std::vector<ValuePattern>& values() const { return values_; }

  // For an allow rule: the field is there, and every value that it has fits one of the patterns,
  // whether it is repeated or a list with commas. A field that a Connection field names is not
  // there: it goes no further than the gateway.
  bool allows(const HeaderList& fields) const;
  // For a deny rule: any value, or member of a list, fits one, letters in either case.
  bool denies(const HeaderList& fields) const;

  friend bool operator==(const FieldMatch&, const FieldMatch&) = default;

 private:
  // CGI and what is like it make one name of "X-Mode" and "X_Mode".
  bool may_be_named(std::string_view name) const;
  bool fits(std::string_view value) const;
  bool fits_lowered(std::string_view value) const;

  std::string name_;
  std::vector<ValuePattern> values_;
};

}  // namespace warder
