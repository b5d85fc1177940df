#include "secrets/spelling.hpp"

#include <algorithm>
#include <optional>

namespace warder {
namespace {

constexpr int kMaxLevels = 4;         // %2525252541: escapes of the escape's own first character
constexpr std::size_t kMaxDepth = 2;  // %5Cu%30041: escapes of its other characters
constexpr std::size_t kMaxBackslashes = 16;  // JSON within JSON doubles them each time

constexpr std::size_t kLongestName = 16;

constexpr std::uint64_t packed(std::string_view name) {
  std::uint64_t word = 0;
  for (const char c : name) word = word << 8 | static_cast<unsigned char>(c);
  return word;
}

struct Named {
  std::string_view name;
  char character;
};
// The names of ASCII characters (HTML Standard, section 13.5). `&hyphen;` and `&dash;` are not `-`.
constexpr std::array<Named, 43> kNames{
    {{"amp", '&'},          {"AMP", '&'},    {"lt", '<'},       {"LT", '<'},
     {"gt", '>'},           {"GT", '>'},     {"quot", '"'},     {"QUOT", '"'},
     {"apos", '\''},        {"lowbar", '_'}, {"UnderBar", '_'}, {"period", '.'},
     {"plus", '+'},         {"equals", '='}, {"sol", '/'},      {"comma", ','},
     {"colon", ':'},        {"semi", ';'},   {"num", '#'},      {"dollar", '$'},
     {"percnt", '%'},       {"ast", '*'},    {"midast", '*'},   {"lpar", '('},
     {"rpar", ')'},         {"excl", '!'},   {"quest", '?'},    {"commat", '@'},
     {"lsqb", '['},         {"lbrack", '['}, {"bsol", '\\'},    {"rsqb", ']'},
     {"rbrack", ']'},       {"Hat", '^'},    {"grave", '`'},    {"DiacriticalGrave", '`'},
     {"lcub", '{'},         {"lbrace", '{'}, {"verbar", '|'},   {"vert", '|'},
     {"VerticalLine", '|'}, {"rcub", '}'},   {"rbrace", '}'}}};

// Packed: as many bytes as a word holds, of what is longer 0.
constexpr std::array<std::uint64_t, kNames.size()> kPackedNames = [] {
  std::array<std::uint64_t, kNames.size()> words{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (kNames[i].name.size() <= sizeof(std::uint64_t)) words[i] = packed(kNames[i].name);
  }
  return words;
}();

// The characters whose names begin with two letters, by their low six bits.
constexpr std::size_t kMostOfPair = 3;
using OfPair = std::array<char, kMostOfPair>;
constexpr std::size_t pair_index(char a, char b) {
  return (static_cast<unsigned char>(a) & 63U) * 64 + (static_cast<unsigned char>(b) & 63U);
}
constexpr std::array<OfPair, 64 * 64> kNamedByPair = [] {
  std::array<OfPair, 64 * 64> table{};
  for (const auto& [name, character] : kNames) {
    OfPair& all = table[pair_index(name[0], name[1])];
    std::size_t i = 0;
    while (all[i] != 0 && all[i] != character) ++i;  // past the end: does not compile
    all[i] = character;
  }
  return table;
}();

// 0: none has this name.
char character_named(std::string_view name) {
  if (name.size() > sizeof(std::uint64_t)) {
    for (const Named& one : kNames) {
      if (one.name == name) return one.character;
    }
    return 0;
  }
  const std::uint64_t word = packed(name);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kPackedNames[i] == word) return kNames[i].character;
  }
  return 0;
}

struct Step {
  enum class Status : std::uint8_t { read, no_escape, cut };
  Status status = Status::no_escape;
  char character = 0;
  std::uint16_t end = 0;
};

constexpr Step kNoEscape{};

constexpr Step read_to(char character, std::size_t end) {
  return {Step::Status::read, character, static_cast<std::uint16_t>(end)};
}

// Reads one unit. Every character of an escape is read in the same way, so that it may be escaped too. No
// introducer goes on an escape, so whatever fails fails at once, and a unit's bytes are read once.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  enum class Backslash : std::uint8_t { escapes, stands };

  // What the introducer `first`, which ends at `at`, spells together with what follows it.
  Step escape(char first, std::size_t at, std::size_t depth, Digits* digits) const {
    switch (first) {
      case '%': return hex_digits(at, 2, depth, digits);
      case '&': return entity(at, depth, digits);
      default: return backslashes(at, depth, digits);
    }
  }

 private:
  Step character(std::size_t at, std::size_t depth,
                 Backslash backslash = Backslash::escapes) const {
    if (at >= text_.size()) return {Step::Status::cut, 0, 0};
    Step now = read_to(text_[at], at + 1);
    if (depth == 0 || !begins_escape(now.character)) return now;
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
    if (digits == nullptr) return;
    digits->form = form;
    digits->count = 0;
  }

  Step hex_digits(std::size_t at, int count, std::size_t depth, Digits* digits) const {
    start(digits, Digits::Form::hex);
    int value = 0;
    for (int i = 0; i < count; ++i) {
      const Step digit = character(at, depth);
      if (digit.status != Step::Status::read) return digit;
      const int bits = hex_value(digit.character);
      if (bits < 0) return kNoEscape;
      value = value * 16 + bits;
      if (value > 0xff) return kNoEscape;
      note(digits, at, digit.end);
      at = digit.end;
    }
    return read_to(static_cast<char>(value), at);
  }

  Step backslashes(std::size_t at, std::size_t depth, Digits* digits) const {
    std::size_t run = 1;
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
      case '/': start(digits, Digits::Form::none); return read_to(next.character, next.end);
      default:
        if (run == 1) return kNoEscape;
        start(digits, Digits::Form::none);
        return read_to('\\', at);
    }
  }

  Step entity(std::size_t at, std::size_t depth, Digits* digits) const {
    const Step first = character(at, depth);
    if (first.status != Step::Status::read) return first;
    return first.character == '#' ? number(first.end, depth, digits)
                                  : name(at, first, depth, digits);
  }

  Step number(std::size_t at, std::size_t depth, Digits* digits) const {
    Step next = character(at, depth);
    const bool hex = next.status == Step::Status::read && to_lower(next.character) == 'x';
    if (hex) next = character(at = next.end, depth);
    start(digits, hex ? Digits::Form::hex : Digits::Form::decimal);
    const std::size_t begin = at;
    int value = 0;
    for (; next.status == Step::Status::read; next = character(at, depth)) {
      if (next.character == ';' && at != begin) {
        return read_to(static_cast<char>(value), next.end);
      }
      const int digit = hex_value(next.character);
      if (digit < 0 || (digit > 9 && !hex)) return kNoEscape;
      value = value * (hex ? 16 : 10) + digit;
      if (value > 0x7f) return kNoEscape;
      note(digits, at, next.end);
      at = next.end;
    }
    return next;
  }

  Step name(std::size_t at, Step next, std::size_t depth, Digits* digits) const {
    const std::size_t begin = at;
    std::array<char, kLongestName> letters;
    std::size_t size = 0;
    for (; next.character != ';'; next = character(at, depth)) {
      if (next.status != Step::Status::read) return next;
      if (size == letters.size() || !is_alnum(next.character)) return kNoEscape;
      letters[size++] = next.character;
      at = next.end;
    }
    const char named = character_named({letters.data(), size});
    if (named == 0) return kNoEscape;
    const bool plain = next.end - begin == size + 1;
    start(digits, plain ? Digits::Form::name : Digits::Form::none);
    if (plain) note(digits, begin, next.end);
    return read_to(named, next.end);
  }

  std::string_view text_;
};

// What can follow the first byte of an escape.
constexpr CharClass kAfterPercent = char_class([](int c) {
  return begins_escape(static_cast<char>(c)) || hex_value(static_cast<char>(c)) >= 0;
});
constexpr CharClass kAfterAmpersand = char_class(
    [](int c) { return begins_escape(static_cast<char>(c)) || c == '#' || is_alnum(c); });
constexpr CharClass kAfterBackslash = char_class([](int c) {
  return begins_escape(static_cast<char>(c)) || c == 'u' || c == 'x' || c == '"' || c == '\'' ||
         c == '/';
});

// Most of what could begin an escape shows with its second byte that it does not.
bool may_go_on(char first, char second) {
  return is_in(first == '%'   ? kAfterPercent
               : first == '&' ? kAfterAmpersand
                              : kAfterBackslash,
               second);
}

constexpr bool is_quote(char c) { return c == '"' || c == '\'' || c == '/'; }

// An escape of which no character is escaped itself: what it spells, in how many bytes behind its introducer; 0: none.
struct Plain {
  char character = 0;
  std::size_t size = 0;
};

// nullopt: not plain, or not whole.
std::optional<Plain> plain_hex(std::string_view rest, std::size_t at, std::size_t count, int most) {
  int value = 0;
  for (const std::size_t end = at + count; at < end; ++at) {
    if (at == rest.size() || begins_escape(rest[at])) return std::nullopt;
    if (hex_value(rest[at]) < 0) return Plain{};
    value = value * 16 + hex_value(rest[at]);
    if (value > most) return Plain{};
  }
  return Plain{static_cast<char>(value), at};
}

std::optional<Plain> plain_number(std::string_view rest) {
  const bool hex = to_lower(rest[1]) == 'x';
  const std::size_t begin = hex ? 2 : 1;
  int value = 0;
  for (std::size_t at = begin; at < rest.size() && !begins_escape(rest[at]); ++at) {
    if (rest[at] == ';' && at != begin) return Plain{static_cast<char>(value), at + 1};
    const int digit = hex_value(rest[at]);
    if (digit < 0 || (digit > 9 && !hex)) return Plain{};
    value = value * (hex ? 16 : 10) + digit;
    if (value > 0x7f) return Plain{};
  }
  return std::nullopt;
}

std::optional<Plain> plain_name(std::string_view rest) {
  std::size_t at = 0;
  while (at < rest.size() && is_alnum(rest[at])) ++at;
  if (at == rest.size() || begins_escape(rest[at])) return std::nullopt;
  const char named = rest[at] == ';' ? character_named(rest.substr(0, at)) : '\0';
  return named == 0 ? Plain{} : Plain{named, at + 1};
}

std::optional<Plain> plain_backslashes(std::string_view rest) {
  const std::size_t run = rest.find_first_not_of('\\');
  if (run >= kMaxBackslashes || begins_escape(rest[run])) return std::nullopt;  // npos too
  if (rest[run] == 'u') return plain_hex(rest, run + 1, 4, 0x7f);
  if (rest[run] == 'x') return plain_hex(rest, run + 1, 2, 0xff);
  if (is_quote(rest[run])) return Plain{rest[run], run + 1};
  return run == 0 ? Plain{} : Plain{'\\', run};
}

std::optional<Plain> read_plain(char first, std::string_view rest) {
  switch (first) {
    case '%': return plain_hex(rest, 0, 2, 0xff);
    case '&': return rest[0] == '#' ? plain_number(rest) : plain_name(rest);
    default: return plain_backslashes(rest);
  }
}

}  // namespace

bool may_spell(char first, char second, char third, const CharClass& wanted) {
  const auto matters = [&](char c) { return begins_escape(c) || is_in(wanted, c); };
  if (first == '\\') {
    const auto goes_on = [&](char c) {
      return begins_escape(c) || c == 'u' || c == 'x' || (is_quote(c) && is_in(wanted, c));
    };
    if (second == '\\') return is_in(wanted, '\\') || goes_on(third);
    if (begins_escape(second)) return may_go_on(second, third);
    if (is_quote(second) || !goes_on(second)) return goes_on(second);
    return begins_escape(third) || (second == 'u' ? third == '0' : hex_value(third) >= 0);
  }
  if (!may_go_on(first, second)) return false;
  if (begins_escape(second)) return may_go_on(second, third);
  if (begins_escape(third)) return true;
  if (first == '%') {
    return hex_value(third) >= 0 &&
           matters(static_cast<char>(hex_value(second) * 16 + hex_value(third)));
  }
  if (second == '#') return is_digit(third) || to_lower(third) == 'x';
  const OfPair& named = kNamedByPair[pair_index(second, third)];
  return std::any_of(named.begin(), named.end(), [&](char c) { return c != 0 && matters(c); });
}

bool may_spell(char first, std::string_view rest, const CharClass& wanted) {
  for (int level = 0; level < kMaxLevels; ++level) {
    if (rest.size() < 2) return rest.empty() || may_go_on(first, rest[0]);
    if (!may_spell(first, rest[0], rest[1], wanted)) return false;
    const std::optional<Plain> plain = read_plain(first, rest);
    if (!plain) return true;
    if (plain->size == 0) return false;
    if (is_in(wanted, plain->character)) return true;
    if (!begins_escape(plain->character)) return false;
    first = plain->character;
    rest.remove_prefix(plain->size);
  }
  return true;
}

Unit read_unit(std::string_view text, const CharClass& wanted, TextEnd end, Digits* digits) {
  Unit best{Unit::Kind::raw, text[0], 1};
  if (!begins_escape(text[0])) return best;
  text = text.substr(0, kMaxUnit);
  if (text.size() < 3) {
    if (text.size() > 1 && !may_go_on(text[0], text[1])) return best;
  } else {
    if (!may_spell(text[0], text[1], text[2], wanted)) return best;
    if (const auto plain = read_plain(text[0], text.substr(1))) {
      const bool goes_on = begins_escape(plain->character) &&
                           may_spell(plain->character, text.substr(1 + plain->size), wanted);
      const bool is_wanted = plain->size != 0 && is_in(wanted, plain->character);
      if (!goes_on && !is_wanted) return best;
      if (!goes_on && digits == nullptr) {
        return {Unit::Kind::escape, plain->character, 1 + plain->size};
      }
    }
  }
  // Of a long run the first bytes begin nothing, whatever follows it. Not to read the rest for each keeps this linear.
  const bool backslash = text[0] == '\\';
  const std::size_t most = backslash ? kMaxBackslashes : kMaxDepth + 1;
  std::size_t run = 1;
  while (run < text.size() && begins_escape(text[run]) && (text[run] == '\\') == backslash) ++run;
  if (run > most) return {Unit::Kind::raw, text[0], run - most};
  const bool may_grow = end == TextEnd::open && text.size() < kMaxUnit;
  const Reader reader(text);
  char last = text[0];
  std::size_t at = 1;
  for (int level = 0; level < kMaxLevels && begins_escape(last); ++level) {
    Digits found;
    const Step step = reader.escape(last, at, kMaxDepth, digits == nullptr ? nullptr : &found);
    if (step.status == Step::Status::cut && may_grow) return {Unit::Kind::cut, 0, 0};
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
