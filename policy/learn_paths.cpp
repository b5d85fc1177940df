#include "policy/learn_paths.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "http/chars.hpp"
#include "policy/path_forms.hpp"
#include "policy/path_pattern.hpp"

namespace warder {
namespace {

constexpr std::size_t kMaxSegments = 32;
constexpr std::size_t kMaxLiteral = 900;  // bytes of a pattern before "/**" takes the rest
constexpr std::size_t kValuesOfOnePlace = 4;
constexpr std::size_t kPatternsOfOnePrefix = 8;
constexpr std::size_t kMaxPatterns = 64;  // of one host and method
constexpr std::size_t kFirstSegments = 3;
constexpr int kMaxPasses = 16;  // each finds what the one before made equal
constexpr std::string_view kSecret = "[secret:";
constexpr std::string_view kCut = "\xE2\x80\xA6[+";  // how a record marks what it left out

using Segments = std::vector<std::string>;

bool is_all(std::string_view text, bool (*of)(char)) {
  return std::all_of(text.begin(), text.end(), of);
}
bool is_digit_char(char c) { return c >= '0' && c <= '9'; }
bool is_hex_char(char c) {
  return is_digit_char(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_lower_char(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper_char(char c) { return c >= 'A' && c <= 'Z'; }
bool is_token_char(char c) {
  return is_digit_char(c) || is_lower_char(c) || is_upper_char(c) || c == '-' || c == '_';
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex_char(text[i])) return false;
  }
  return true;
}

// Words have runs of one kind of letter; a token that was drawn changes between kinds all the time.
bool looks_random(std::string_view text) {
  if (text.size() < 20 || !is_all(text, is_token_char)) return false;
  const auto kind = [](char c) {
    return is_digit_char(c) ? 1 : is_lower_char(c) ? 2 : is_upper_char(c) ? 3 : 0;
  };
  std::size_t changes = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const int before = kind(text[i - 1]);
    const int now = kind(text[i]);
    if (before != 0 && now != 0 && before != now) ++changes;
  }
  return changes * 5 >= text.size() && std::any_of(text.begin(), text.end(), is_digit_char);
}

bool is_id(std::string_view segment) {
  if (segment.empty()) return false;
  if (is_all(segment, is_digit_char) || is_uuid(segment)) return true;
  const bool has_digit = std::any_of(segment.begin(), segment.end(), is_digit_char);
  if (segment.size() >= 8 && has_digit && is_all(segment, is_hex_char)) return true;
  return looks_random(segment);
}

void add_star(std::string& out) {
  if (!out.ends_with('*')) out += '*';
}

// "*" does not match an escaped slash, so such a segment stays as it is.
bool has_escaped_slash(std::string_view segment) {
  return with_upper_escapes(segment).find("%2F") != std::string::npos;
}

// What a pattern can spell as it is; all else as "*".
std::string spelled(std::string_view segment) {
  std::string out;
  for (std::size_t at = 0; at < segment.size();) {
    const std::string_view rest = segment.substr(at);
    const std::size_t end = rest.starts_with(kSecret) ? rest.find(']') : std::string_view::npos;
    if (end != std::string_view::npos) {
      add_star(out);
      at += end + 1;
      continue;
    }
    const char c = segment[at];
    if (c == '%' && rest.size() > 2) {
      const std::string byte = decode_escapes(rest.substr(0, 3), EscapedSlash::slash);
      const bool needless =
          byte.size() == 1 && (is_token_char(byte[0]) || byte[0] == '.' || byte[0] == '~');
      needless ? add_star(out) : void(out += rest.substr(0, 3));
      at += 3;
      continue;
    }
    const bool plain =
        is_in(kVisible, c) && std::string_view("*{}?#\\").find(c) == std::string_view::npos;
    plain ? void(out += c) : add_star(out);
    ++at;
  }
  return out;
}

// The segments of a pattern; the last one may be "**". Empty: no pattern can be made of it.
Segments segments_of(std::string_view path) {
  Segments out;
  if (!path.starts_with('/')) return out;
  const std::size_t cut = path.find(kCut);
  if (cut != std::string_view::npos) path = path.substr(0, path.rfind('/', cut));
  if (path.empty()) return out;  // cut within its first segment
  std::size_t bytes = 0;
  bool is_whole = cut == std::string_view::npos;
  for (std::size_t at = 1;;) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    std::string segment = spelled(path.substr(at, end - at));
    bytes += segment.size() + 1;
    if (out.size() + 1 >= kMaxSegments || bytes > kMaxLiteral) {
      is_whole = false;
      break;
    }
    out.push_back(std::move(segment));
    if (end == path.size()) break;
    at = end + 1;
  }
  if (out.empty()) return out;
  if (!is_whole) out.emplace_back("**");
  return out;
}

std::string text_of(std::span<const std::string> segments) {
  std::string out;
  for (const std::string& segment : segments) out += '/' + segment;
  return out;
}

bool may_become_star(const std::string& segment) {
  return !segment.empty() && segment != "**" && !has_escaped_slash(segment);
}

void star_ids(Segments& segments) {
  for (std::string& segment : segments) {
    if (is_id(segment)) segment = "*";
  }
}

// In each place: rows that are equal but there, with enough values there. True: something changed.
bool star_places(std::vector<Segments>& rows) {
  bool changed = false;
  for (std::size_t place = 0; place < kMaxSegments; ++place) {
    std::map<std::string, std::vector<std::size_t>> alike;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (place >= rows[i].size() || !may_become_star(rows[i][place])) continue;
      Segments others = rows[i];
      others[place] = "\n";  // no segment has one
      alike[text_of(others)].push_back(i);
    }
    for (const auto& [key, members] : alike) {
      std::set<std::string_view> values;
      for (const std::size_t i : members) values.insert(rows[i][place]);
      const bool has_star = values.contains("*");
      if (values.size() < 2 || (!has_star && values.size() < kValuesOfOnePlace)) continue;
      for (const std::size_t i : members) rows[i][place] = "*";
      changed = true;
    }
  }
  if (!changed) return false;
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return true;
}

// The patterns of sorted rows that are equal before `depth`; the deepest prefix that has too many
// gives way first.
std::vector<std::string> collapsed(std::span<const Segments> rows, std::size_t depth,
                                   bool has_many_roots) {
  std::vector<std::string> patterns;
  for (std::size_t begin = 0; begin < rows.size();) {
    if (rows[begin].size() == depth) {
      patterns.push_back(text_of(rows[begin++]));
      continue;
    }
    std::size_t end = begin + 1;
    while (end < rows.size() && rows[end].size() > depth && rows[end][depth] == rows[begin][depth])
      ++end;
    for (std::string& pattern :
         collapsed(rows.subspan(begin, end - begin), depth + 1, has_many_roots))
      patterns.push_back(std::move(pattern));
    begin = end;
  }
  const auto prefix = std::span(rows.front()).first(depth);
  const bool names_something = std::any_of(
      prefix.begin(), prefix.end(), [](const std::string& segment) { return segment != "*"; });
  // "/*/**" is every path.
  const bool may = depth > 0 && (names_something || has_many_roots) && prefix.back() != "**";
  if (may && patterns.size() >= kPatternsOfOnePrefix) return {text_of(prefix) + "/**"};
  return patterns;
}

bool parses(const std::string& pattern) {
  return std::holds_alternative<PathPattern>(PathPattern::parse(pattern));
}

std::vector<std::string> sorted_and_valid(std::vector<std::string> patterns) {
  std::erase_if(patterns, [](const std::string& pattern) { return !parses(pattern); });
  std::sort(patterns.begin(), patterns.end());
  patterns.erase(std::unique(patterns.begin(), patterns.end()), patterns.end());
  return patterns;
}

}  // namespace

std::string literal_pattern(std::string_view path) {
  const Segments segments = segments_of(path);
  if (segments.empty()) return "";
  std::string pattern = text_of(segments);
  return parses(pattern) && pattern != "/**" ? pattern : "";
}

std::vector<std::string> literal_patterns(const std::vector<std::string>& paths) {
  std::vector<std::string> patterns;
  for (const std::string& path : paths) patterns.push_back(literal_pattern(path));
  return sorted_and_valid(std::move(patterns));
}

std::vector<std::string> general_patterns(const std::vector<std::string>& paths) {
  std::vector<Segments> rows;
  std::set<std::string> roots;
  for (const std::string& path : paths) {
    if (literal_pattern(path).empty()) continue;
    Segments segments = segments_of(path);
    roots.insert(segments.front());
    star_ids(segments);
    rows.push_back(std::move(segments));
  }
  if (rows.empty()) return {};
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  for (int pass = 0; pass < kMaxPasses && star_places(rows); ++pass) {
  }
  const bool has_many_roots = roots.size() >= kFirstSegments;
  auto patterns = sorted_and_valid(collapsed(rows, 0, has_many_roots));
  if (patterns.size() > kMaxPatterns && has_many_roots) return {"/**"};
  return patterns;
}

}  // namespace warder
