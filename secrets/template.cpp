#include "secrets/template.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "http/chars.hpp"

namespace warder {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";

bool is_plain(char c) {
  return is_alnum(c) || std::string_view("-._~").find(c) != std::string_view::npos;
}

std::string sorted(std::string chars) {
  std::sort(chars.begin(), chars.end());
  chars.erase(std::unique(chars.begin(), chars.end()), chars.end());
  return chars;
}

}  // namespace

class TemplateReader {
 public:
  explicit TemplateReader(std::string_view text) : text_(text) {}

  std::vector<Template::Item> items() {
    if (text_.empty()) fail(1, "it is empty");
    if (text_.size() > Template::kMaxText)
      fail(Template::kMaxText + 1,
           "it is longer than " + std::to_string(Template::kMaxText) + " characters");
    std::vector<Template::Item> all;
    while (!done()) all.push_back(item());
    return all;
  }

 private:
  [[noreturn]] static void fail(std::size_t at, const std::string& sentence) {
    throw TemplateError(at, sentence);
  }
  bool done() const { return next_ == text_.size(); }
  bool sees(char c) const { return !done() && text_[next_] == c; }
  std::size_t here() const { return next_ + 1; }

  Template::Item item() {
    Template::Item made;
    const std::size_t begin = here();
    switch (text_[next_]) {
      case '[': made.chars = char_class(); break;
      case '\\': made.chars = escape(); break;
      case '{': fail(begin, "a count stands behind a character or a class");
      case '?':
      case '*':
      case '+': fail(begin, "a repetition without a bound: write a count such as {24} or {8,24}");
      case '(':
      case ')':
      case '|': fail(begin, "groups and alternatives are not there: write one form");
      case '^':
      case '$': fail(begin, "a template is always the whole placeholder: leave anchors out");
      default: made.chars = std::string(1, literal());
    }
    if (sees('{')) counts(made);
    if (sees('{')) fail(here(), "a second count");
    return made;
  }

  char literal() {
    const char c = text_[next_];
    if (!is_plain(c)) {
      fail(here(), "only letters, digits and - . _ ~ can stand in a placeholder");
    }
    ++next_;
    return c;
  }

  // \d, \w, or a sign that stands for itself.
  std::string escape() {
    const std::size_t begin = here();
    ++next_;
    if (done()) fail(begin, "nothing follows the backslash");
    const char c = text_[next_];
    if (c == 'd' || c == 'w') {
      ++next_;
      std::string chars(kDigits);
      if (c == 'w') chars.append(kUpper).append("_").append(kLower);
      return chars;
    }
    if (is_alnum(c)) fail(begin, "no such escape: known are \\d, \\w and a sign such as \\.");
    return std::string(1, literal());
  }

  std::string char_class() {
    const std::size_t begin = here();
    ++next_;
    if (sees('^')) fail(here(), "a class cannot be negated: list its characters");
    std::string chars;
    while (!sees(']')) {
      if (done()) fail(begin, "the class has no end: a ']' is missing");
      const std::size_t at = here();
      std::string first = sees('\\') ? escape() : std::string(1, literal());
      // A '-' before the end of the class is a character of its own.
      const bool is_range =
          first.size() == 1 && sees('-') && next_ + 1 < text_.size() && text_[next_ + 1] != ']';
      if (is_range) {
        ++next_;
        first = range(first[0], at);
      }
      chars += first;
    }
    ++next_;
    if (chars.empty()) fail(begin, "the class is empty");
    return sorted(std::move(chars));
  }

  std::string range(char first, std::size_t at) {
    const char last = literal();
    for (const std::string_view kind : {kDigits, kUpper, kLower}) {
      const auto from = kind.find(first);
      const auto to = kind.find(last);
      if (from == std::string_view::npos || to == std::string_view::npos) continue;
      if (from > to) fail(at, "the range is the wrong way round");
      return std::string(kind.substr(from, to - from + 1));
    }
    fail(at, "a range goes from a digit, lower-case or upper-case letter to another of its kind");
  }

  void counts(Template::Item& made) {
    const std::size_t begin = here();
    ++next_;
    made.least = number(begin);
    made.most = made.least;
    if (sees(',')) {
      ++next_;
      if (sees('}')) fail(here(), "the count has no upper bound: write {n,m}");
      made.most = number(begin);
    }
    if (!sees('}')) fail(begin, "a count is written {n} or {n,m}");
    ++next_;
    if (made.most < made.least) fail(begin, "the count is the wrong way round");
    if (made.most == 0) fail(begin, "the count is 0");
  }

  std::size_t number(std::size_t begin) {
    if (done() || !is_digit(text_[next_])) fail(begin, "a count is written {n} or {n,m}");
    std::size_t value = 0;
    for (; !done() && is_digit(text_[next_]); ++next_) {
      value = 10 * value + static_cast<std::size_t>(text_[next_] - '0');
      if (value > Template::kMaxLength)
        fail(begin, "a count is at most " + std::to_string(Template::kMaxLength));
    }
    return value;
  }

  std::string_view text_;
  std::size_t next_ = 0;
};

Template::Template(std::string_view text) : text_(text), items_(TemplateReader(text).items()) {
  for (const Item& item : items_) {
    shortest_ += item.least;
    longest_ += item.most;
  }
  if (longest_ > kMaxLength) {
    throw TemplateError(
        1, "what it makes can be longer than " + std::to_string(kMaxLength) + " characters");
  }
  for (const Item& item : items_) {
    if (item.chars.size() != 1) break;
    prefix_.append(item.least, item.chars[0]);
    if (item.least != item.most) break;
  }
}

double Template::bits(const Counts& counts) const {
  double sum = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    sum += static_cast<double>(counts[i]) * std::log2(static_cast<double>(items_[i].chars.size()));
  }
  return sum;
}

double Template::most_bits() const { return bits(spread(longest_)); }

bool Template::can_make(char c) const {
  return std::any_of(items_.begin(), items_.end(),
                     [c](const Item& item) { return item.chars.find(c) != std::string::npos; });
}

bool Template::takes(const Item& item, char c, Match match) {
  if (item.chars.find(c) != std::string::npos) return true;
  return match == Match::loose && item.chars.size() >= 62 &&
         std::string_view("-_+/").find(c) != std::string_view::npos;
}

// Which places of the text each item can begin at, item by item; then one way back. Linear in items × text.
std::optional<Template::Counts> Template::match(std::string_view text, Match match) const {
  const std::size_t size = text.size();
  if (size < shortest_ || size > longest_ || !text.starts_with(prefix_)) return std::nullopt;
  std::vector<std::vector<bool>> reached(items_.size() + 1, std::vector<bool>(size + 1));
  reached[0][0] = true;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    std::vector<std::size_t> run(size + 1);  // how many characters from here the item takes
    for (std::size_t at = size; at-- > 0;)
      run[at] = takes(item, text[at], match) ? run[at + 1] + 1 : 0;
    std::vector<int> opens(size + 2);  // +1 where a stretch of reached places begins, -1 behind it
    for (std::size_t at = 0; at <= size; ++at) {
      if (!reached[i][at] || run[at] < item.least) continue;
      ++opens[at + item.least];
      --opens[at + std::min(run[at], item.most) + 1];
    }
    int open = 0;
    for (std::size_t at = 0; at <= size; ++at) reached[i + 1][at] = (open += opens[at]) > 0;
  }
  if (!reached.back()[size]) return std::nullopt;
  Counts counts(items_.size());
  std::size_t end = size;
  for (std::size_t i = items_.size(); i-- > 0;) {
    const Item& item = items_[i];
    std::size_t taken = 0;
    while (taken < item.least || !reached[i][end - taken]) ++taken;
    counts[i] = taken;
    end -= taken;
  }
  return counts;
}

// To what is random first: a literal that is repeated more often tells nothing.
Template::Counts Template::spread(std::size_t size) const {
  Counts counts;
  for (const Item& item : items_) counts.push_back(item.least);
  std::size_t rest = size - shortest_;
  for (const bool random : {true, false}) {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if ((items_[i].chars.size() > 1) != random) continue;
      const std::size_t more = std::min(rest, items_[i].most - items_[i].least);
      counts[i] += more;
      rest -= more;
    }
  }
  return counts;
}

Template::Counts Template::counts_for(std::string_view value, Match kind) const {
  const double enough = std::min(kEnoughBits, most_bits());
  if (auto own = match(value, kind); own && bits(*own) >= enough) return *own;
  std::size_t size = value.size();
  while (size < shortest_) size += 3;
  for (; size <= longest_; size += 3) {
    Counts counts = spread(size);
    if (bits(counts) >= enough) return counts;
  }
  for (size = std::clamp(value.size(), shortest_, longest_); size < longest_; ++size) {
    Counts counts = spread(size);
    if (bits(counts) >= enough) return counts;
  }
  return spread(longest_);
}

std::string Template::fill(const Counts& counts, Random& random) const {
  std::string out;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const std::string& chars = items_[i].chars;
    for (std::size_t n = 0; n < counts[i]; ++n) {
      out += chars.size() == 1 ? chars[0]
                               : chars[random.below(static_cast<std::uint32_t>(chars.size()))];
    }
  }
  return out;
}

}  // namespace warder
