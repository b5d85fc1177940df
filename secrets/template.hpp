// A small pattern language for placeholders: reads a template such as "acme_[a-z0-9]{24}", says how random it is, and
// fills it.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"

namespace warder {

// `at` is the character of the template, from 1. The sentence quotes nothing of the template.
struct TemplateError : std::runtime_error {
  TemplateError(std::size_t position, const std::string& sentence)
      : std::runtime_error(sentence), at(position) {}
  std::size_t at;
};

// Literals, classes ([a-z0-9_], \d, \w) and counts ({n}, {n,m}) behind either. '.' is a dot. Every character that it can
// make is one of A-Z a-z 0-9 - . _ ~, which need no escape in a header field, JSON, a path or a query.
class Template {
 public:
  static constexpr std::size_t kMaxText = 512;     // of the template itself
  static constexpr std::size_t kMaxLength = 4096;  // of what it makes
  static constexpr double kEnoughBits = 128;

  // How often each item stands in a text.
  using Counts = std::vector<std::size_t>;

  // Throws TemplateError.
  explicit Template(std::string_view text);

  const std::string& text() const { return text_; }
  std::size_t shortest() const { return shortest_; }
  std::size_t longest() const { return longest_; }
  double most_bits() const;
  double bits(const Counts& counts) const;
  // The characters that everything it makes begins with.
  std::string_view prefix() const { return prefix_; }
  bool can_make(char c) const;

  // nullopt when `text` is not of this form. `loose` takes "-_+/" too where a class has all letters and digits: tokens in
  // base64 are random there.
  enum class Match : bool { exact, loose };
  std::optional<Counts> match(std::string_view text, Match match) const;
  // Those of `value` where it is of this form. Else, or where they hold too few random bits (128, or all that the template
  // can hold): its length, or else the next longer one by a multiple of 3, or else the nearest that holds enough.
  Counts counts_for(std::string_view value, Match match) const;
  std::string fill(const Counts& counts, Random& random) const;

 private:
  struct Item {
    std::string chars;  // sorted, each once
    std::size_t least = 1;
    std::size_t most = 1;
  };
  friend class TemplateReader;
  static bool takes(const Item& item, char c, Match match);
  Counts spread(std::size_t size) const;

  std::string text_;
  std::string prefix_;
  std::vector<Item> items_;
  std::size_t shortest_ = 0;
  std::size_t longest_ = 0;
};

}  // namespace warder
