#include "secrets/spelling.hpp"

#include <algorithm>
#include <utility>

namespace warder {
namespace {

constexpr int kMaxLevels = 4;        // %2525252541: escapes of the escape's own first character
constexpr int kMaxDepth = 3;         // %5Cu%30041: escapes of its other characters
constexpr int kMaxBackslashes = 16;  // JSON within JSON doubles them each time

// The names of ASCII characters (HTML Standard, section 13.5). `&hyphen;` and `&dash;` are not `-`.
constexpr std::pair<std::string_view, char> kNames[] = {
    {"amp", '&'},          {"AMP", '&'},    {"lt", '<'},       {"LT", '<'},
    {"gt", '>'},           {"GT", '>'},     {"quot", '"'},     {"QUOT", '"'},
    {"apos", '\''},        {"lowbar", '_'}, {"UnderBar", '_'}, {"period", '.'},
    {"plus", '+'},         {"equals", '='}, {"sol", '/'},      {"comma", ','},
    {"colon", ':'},        {"semi", ';'},   {"num", '#'},      {"dollar", '$'},
    {"percnt", '%'},       {"ast", '*'},    {"midast", '*'},   {"lpar", '('},
    {"rpar", ')'},         {"excl", '!'},   {"quest", '?'},    {"commat", '@'},
    {"lsqb", '['},         {"lbrack", '['}, {"bsol", '\\'},    {"rsqb", ']'},
    {"rbrack", ']'},       {"Hat", '^'},    {"grave", '`'},    {"DiacriticalGrave", '`'},
    {"lcub", '{'},         {"lbrace", '{'}, {"verbar", '|'},   {"vert", '|'},
    {"VerticalLine", '|'}, {"rcub", '}'},   {"rbrace", '}'}};
constexpr std::size_t kLongestName = 16;

struct Step {
  enum class Status : std::uint8_t { read, no_escape, cut };
  Status status = Status::no_escape;
  char character = 0;
  std::size_t end = 0;
};

constexpr Step kNoEscape{};

// Reads one unit. Every character of an escape is read in the same way, so that it may be escaped too. No
// introducer goes on an escape, so whatever fails fails at once, and a unit's bytes are read once.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  enum class Backslash : std::uint8_t { escapes, stands };

  // What the introducer `first`, which ends at `at`, spells together with what follows it.
  Step escape(char first, std::size_t at, int depth, Digits* digits) const {
    switch (first) {
      case '%': return hex_digits(at, 2, depth, digits);
      case '&': return entity(at, depth, digits);
      default: return backslashes(at, depth, digits);
    }
  }

 private:
  Step character(std::size_t at, int depth, Backslash backslash = Backslash::escapes) const {
    if (at >= text_.size()) return {Step::Status::cut, 0, at};
    Step now{Step::Status::read, text_[at], at + 1};
    if (depth == 0) return now;
    for (int level = 0; level < kMaxLevels && begins_escape(now.character); ++level) {
      if (now.character == '\\' && backslash == Backslash::stands) break;
      const Step next = escape(now.character, now.end, depth - 1, nullptr);
      if (next.status == Step::Status::cut) return next;
      if (next.status == Step::Status::no_escape) break;
      now = next;
    }
    return now;
  }

  static void note(Digits* digits, std::size_t begin, std::size_t end) {
    if (digits == nullptr) return;
    digits->spans[digits->count++] = {static_cast<std::uint8_t>(begin),
                                      static_cast<std::uint8_t>(end)};
  }
  static void start(Digits* digits, Digits::Form form) {
    if (digits != nullptr) *digits = {form, 0, {}};
  }

  Step hex_digits(std::size_t at, int count, int depth, Digits* digits) const {
    Digits found{Digits::Form::hex, 0, {}};
    int value = 0;
    for (int i = 0; i < count; ++i) {
      const Step digit = character(at, depth);
      if (digit.status != Step::Status::read) return digit;
      const int bits = hex_value(digit.character);
      if (bits < 0) return kNoEscape;
      value = value * 16 + bits;
      if (value > 0xff) return kNoEscape;
      note(&found, at, digit.end);
      at = digit.end;
    }
    if (digits != nullptr) *digits = found;
    return {Step::Status::read, static_cast<char>(value), at};
  }

  Step backslashes(std::size_t at, int depth, Digits* digits) const {
    int run = 1;
    Step next = character(at, depth, Backslash::stands);
    while (next.status == Step::Status::read && next.character == '\\') {
      if (++run > kMaxBackslashes) return kNoEscape;
      at = next.end;
      next = character(at, depth, Backslash::stands);
    }
    if (next.status != Step::Status::read) return next;
    switch (next.character) {
      case 'u': {
        const Step spelled = hex_digits(next.end, 4, depth, digits);
        // Beyond ASCII it is no byte.
        const bool byte = static_cast<unsigned char>(spelled.character) < 0x80;
        return spelled.status != Step::Status::read || byte ? spelled : kNoEscape;
      }
      case 'x': return hex_digits(next.end, 2, depth, digits);
      case '"':
      case '\'':
      case '/':
        start(digits, Digits::Form::none);
        return {Step::Status::read, next.character, next.end};
      default:
        if (run == 1) return kNoEscape;
        start(digits, Digits::Form::none);
        return {Step::Status::read, '\\', at};
    }
  }

  Step entity(std::size_t at, int depth, Digits* digits) const {
    const Step first = character(at, depth);
    if (first.status != Step::Status::read) return first;
    return first.character == '#' ? number(first.end, depth, digits) : name(at, depth, digits);
  }

  Step number(std::size_t at, int depth, Digits* digits) const {
    Step next = character(at, depth);
    const bool hex = next.status == Step::Status::read && to_lower(next.character) == 'x';
    if (hex) next = character(at = next.end, depth);
    Digits found{hex ? Digits::Form::hex : Digits::Form::decimal, 0, {}};
    int value = 0;
    for (; next.status == Step::Status::read; next = character(at, depth)) {
      if (next.character == ';' && found.count != 0) {
        if (digits != nullptr) *digits = found;
        return {Step::Status::read, static_cast<char>(value), next.end};
      }
      const int digit = hex_value(next.character);
      if (digit < 0 || (digit > 9 && !hex)) return kNoEscape;
      value = value * (hex ? 16 : 10) + digit;
      if (value > 0x7f) return kNoEscape;
      note(&found, at, next.end);
      at = next.end;
    }
    return next;
  }

  Step name(std::size_t at, int depth, Digits* digits) const {
    const std::size_t begin = at;
    std::array<char, kLongestName> letters{};
    std::size_t size = 0;
    for (;;) {
      const Step next = character(at, depth);
      if (next.status != Step::Status::read) return next;
      at = next.end;
      if (next.character == ';') break;
      if (size == letters.size() || !is_alnum(next.character)) return kNoEscape;
      letters[size++] = next.character;
    }
    const auto* const found = std::find_if(
        std::begin(kNames), std::end(kNames),
        [&](const auto& entry) { return entry.first == std::string_view(letters.data(), size); });
    if (found == std::end(kNames)) return kNoEscape;
    const bool plain = at - begin == size + 1;
    start(digits, plain ? Digits::Form::name : Digits::Form::none);
    if (plain) note(digits, begin, at);
    return {Step::Status::read, found->second, at};
  }

  std::string_view text_;
};

}  // namespace

std::size_t find_escape(std::string_view text, std::size_t from) {
  constexpr std::size_t kBlock = 64;  // a loop without a way out: the compiler makes it wide
  const char* const data = text.data();
  const std::size_t size = text.size();
  std::size_t at = from;
  while (at + kBlock <= size) {
    unsigned char any = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const char c = data[at + i];
      any |= static_cast<unsigned char>((c == '%') | (c == '\\') | (c == '&'));
    }
    if (any != 0) break;
    at += kBlock;
  }
  while (at < size && !begins_escape(data[at])) ++at;
  return at;
}

Unit read_unit(std::string_view text, const CharClass& wanted, TextEnd end, Digits* digits) {
  Unit best{Unit::Kind::raw, text[0], 1};
  if (!begins_escape(text[0])) return best;
  const bool full = text.size() >= kMaxUnit;
  const Reader reader(text.substr(0, kMaxUnit));
  char last = text[0];
  std::size_t at = 1;
  for (int level = 0; level < kMaxLevels && begins_escape(last); ++level) {
    Digits found;
    const auto step = reader.escape(last, at, kMaxDepth, digits == nullptr ? nullptr : &found);
    if (step.status == Step::Status::cut && !full && end == TextEnd::open) {
      return {Unit::Kind::cut, 0, 0};
    }
    if (step.status != Step::Status::read) break;
    last = step.character;
    at = step.end;
    if (!is_in(wanted, last)) continue;
    best = {Unit::Kind::escape, last, at};
    if (digits != nullptr) *digits = found;
  }
  return best;
}

}  // namespace warder
