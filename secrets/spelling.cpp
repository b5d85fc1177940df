#include "secrets/spelling.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

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

// The names of ASCII characters (HTML Standard, section 13.5); 0 for any other. `&hyphen;` and `&dash;` are not
// `-`.
char character_named(std::string_view name) {
  if (name == "DiacriticalGrave") return '`';
  if (name == "VerticalLine") return '|';
  if (name.size() > sizeof(std::uint64_t)) return 0;
  switch (packed(name)) {
    case packed("amp"):
    case packed("AMP"): return '&';
    case packed("lt"):
    case packed("LT"): return '<';
    case packed("gt"):
    case packed("GT"): return '>';
    case packed("quot"):
    case packed("QUOT"): return '"';
    case packed("apos"): return '\'';
    case packed("lowbar"):
    case packed("UnderBar"): return '_';
    case packed("period"): return '.';
    case packed("plus"): return '+';
    case packed("equals"): return '=';
    case packed("sol"): return '/';
    case packed("comma"): return ',';
    case packed("colon"): return ':';
    case packed("semi"): return ';';
    case packed("num"): return '#';
    case packed("dollar"): return '$';
    case packed("percnt"): return '%';
    case packed("ast"):
    case packed("midast"): return '*';
    case packed("lpar"): return '(';
    case packed("rpar"): return ')';
    case packed("excl"): return '!';
    case packed("quest"): return '?';
    case packed("commat"): return '@';
    case packed("lsqb"):
    case packed("lbrack"): return '[';
    case packed("bsol"): return '\\';
    case packed("rsqb"):
    case packed("rbrack"): return ']';
    case packed("Hat"): return '^';
    case packed("grave"): return '`';
    case packed("lcub"):
    case packed("lbrace"): return '{';
    case packed("verbar"):
    case packed("vert"): return '|';
    case packed("rcub"):
    case packed("rbrace"): return '}';
    default: return 0;
  }
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

constexpr std::size_t kBlock = 64;

// A bit for each byte of a block that may begin an escape, the first one lowest.
std::uint64_t escape_bits(const char* data) {
  std::uint64_t bits = 0;
#ifdef __SSE2__
  const auto all = [](char c) { return _mm_set1_epi8(c); };
  for (std::size_t i = 0; i < kBlock; i += sizeof(__m128i)) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data + i));
    const __m128i marks = _mm_or_si128(
        _mm_cmpeq_epi8(bytes, all('\\')),
        _mm_or_si128(_mm_cmpeq_epi8(bytes, all('%')), _mm_cmpeq_epi8(bytes, all('&'))));
    bits |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(marks))} << i;
  }
#else
  for (std::size_t i = 0; i < kBlock; ++i) {
    bits |= std::uint64_t{begins_escape(data[i])} << i;
  }
#endif
  return bits;
}

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

// The commonest escapes, for speed; what is not among them is read by Reader.
std::optional<Unit> read_common(std::string_view text, const CharClass& wanted) {
  char spelled = 0;
  std::size_t size = 0;
  if (text[0] == '%' && text.size() >= 3) {
    const int high = hex_value(text[1]);
    const int low = hex_value(text[2]);
    if (high < 0 || low < 0) return std::nullopt;
    spelled = static_cast<char>(high * 16 + low);
    size = 3;
  } else if (text[0] == '\\' && text.size() >= 2 && (text[1] == '"' || text[1] == '/')) {
    spelled = text[1];
    size = 2;
  } else if (text[0] == '\\' && text.size() >= 6 && text[1] == 'u') {
    int value = 0;
    for (std::size_t i = 2; i < 6; ++i) {
      if (hex_value(text[i]) < 0) return std::nullopt;
      value = value * 16 + hex_value(text[i]);
    }
    if (value > 0x7f) return Unit{Unit::Kind::raw, '\\', 1};
    spelled = static_cast<char>(value);
    size = 6;
  } else if (text[0] == '&') {
    std::size_t at = 1;
    while (at < text.size() && is_alnum(text[at])) ++at;
    if (at == text.size() || text[at] == '#' || begins_escape(text[at])) return std::nullopt;
    if (text[at] == ';') spelled = character_named(text.substr(1, at - 1));
    if (spelled == 0) return Unit{Unit::Kind::raw, '&', 1};
    size = at + 1;
  } else {
    return std::nullopt;
  }
  const bool may_begin_another =
      begins_escape(spelled) && (size == text.size() || may_go_on(spelled, text[size]));
  if (may_begin_another) return std::nullopt;
  if (!is_in(wanted, spelled)) return Unit{Unit::Kind::raw, text[0], 1};
  return Unit{Unit::Kind::escape, spelled, size};
}

}  // namespace

std::size_t find_escape(std::string_view text, std::size_t from) {
  const char* const data = text.data();
  const std::size_t size = text.size();
  const auto may_begin = [&](std::size_t at) {
    return at + 1 == size || may_go_on(data[at], data[at + 1]);
  };
  std::size_t at = from;
  while (size >= kBlock && at < size) {
    const std::size_t block = std::min(at, size - kBlock);  // the last one may overlap
    for (auto bits = escape_bits(data + block) >> (at - block); bits != 0; bits &= bits - 1) {
      const std::size_t found = at + static_cast<std::size_t>(std::countr_zero(bits));
      if (may_begin(found)) return found;
    }
    at = block + kBlock;
  }
  for (; at < size; ++at) {
    if (begins_escape(data[at]) && may_begin(at)) return at;
  }
  return size;
}

Unit read_unit(std::string_view text, const CharClass& wanted, TextEnd end, Digits* digits) {
  Unit best{Unit::Kind::raw, text[0], 1};
  if (!begins_escape(text[0])) return best;
  text = text.substr(0, kMaxUnit);
  if (text.size() > 1 && !may_go_on(text[0], text[1])) return best;
  if (digits == nullptr) {
    if (const auto common = read_common(text, wanted)) return *common;
  }
  // Of a long run the first bytes begin nothing, whatever follows it. Not to read the rest for each keeps this linear.
  const std::string_view same = text[0] == '\\' ? "\\" : "%&";
  const std::size_t most = text[0] == '\\' ? kMaxBackslashes : kMaxDepth + 1;
  const std::size_t run = std::min(text.find_first_not_of(same), text.size());
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
