#include "secrets/target_places.hpp"

#include <algorithm>

#include "secrets/escapes.hpp"

namespace warder {
namespace {

struct Bounds {
  std::size_t path;
  std::size_t query;  // of its '?'; the target's end when there is none
};

Bounds bounds_of(std::string_view target) {
  std::size_t path = 0;
  if (!target.starts_with('/')) {
    const std::size_t scheme = target.find("://");
    if (scheme == std::string_view::npos) return {target.size(), target.size()};
    path = std::min(target.find_first_of("/?", scheme + 3), target.size());
  }
  return {path, std::min(target.find('?', path), target.size())};
}

void add_hits(std::vector<TargetHit>& hits, std::string_view target, std::size_t begin,
              std::size_t end, const Matcher& placeholders, const Place& place) {
  const Unescaped text = unescape(target.substr(begin, end - begin), Escapes::percent);
  const std::string_view plain = as_view(text.plain);
  for (auto hit = placeholders.find(plain); hit.pattern != Matcher::npos;
       hit = placeholders.find(plain, hit.end)) {
    hits.push_back(
        {begin + text.begin_of(hit.begin), begin + text.begin_of(hit.end), hit.pattern, place});
  }
}

std::string decoded_key(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return std::string(as_view(unescape(spaced, Escapes::percent).plain));
}

// Would servers that decode before they split, also more than once, be led elsewhere?
bool has_dot_segment(std::string_view path) {
  for (;;) {
    const std::size_t slash = path.find_first_of("/\\");
    const std::string_view segment = path.substr(0, slash);
    const std::string_view name = segment.substr(0, segment.find(';'));
    if (name == "." || name == "..") return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

std::vector<TargetHit> target_hits(std::string_view target, const Matcher& placeholders) {
  std::vector<TargetHit> hits;
  const Bounds bounds = bounds_of(target);
  for (std::size_t at = bounds.path; at < bounds.query;) {
    const std::size_t end = std::min(target.find('/', at), bounds.query);
    add_hits(hits, target, at, end, placeholders, {Place::Kind::path, ""});
    at = end + 1;
  }
  for (const QueryPair& pair : query_pairs(target)) {
    add_hits(hits, target, pair.value, pair.end, placeholders, {Place::Kind::query, pair.key});
  }
  return hits;
}

std::vector<QueryPair> query_pairs(std::string_view target, Separators by) {
  std::vector<QueryPair> pairs;
  const char* const separators = by == Separators::ampersand ? "&" : "&;";
  for (std::size_t at = bounds_of(target).query + 1; at < target.size();) {
    const std::size_t end = std::min(target.find_first_of(separators, at), target.size());
    const std::size_t equals = std::min(target.find('=', at), end);
    pairs.push_back(
        {at, std::min(equals + 1, end), end, decoded_key(target.substr(at, equals - at))});
    at = end + 1;
  }
  return pairs;
}

std::string without_pairs(std::string_view target, const std::vector<std::size_t>& which) {
  const std::size_t mark = bounds_of(target).query;
  std::string out(target.substr(0, mark));
  char sign = '?';
  std::size_t index = 0;
  for (const QueryPair& pair : query_pairs(target)) {
    if (std::find(which.begin(), which.end(), index++) != which.end()) continue;
    out += sign;
    out += target.substr(pair.begin, pair.end - pair.begin);
    sign = '&';
  }
  return out;
}

bool leads_elsewhere(std::string_view path) {
  constexpr int kDecodings = 4;
  Unescaped text = unescape(path, Escapes::none);
  for (int times = 0; times < kDecodings; ++times) {
    if (has_dot_segment(as_view(text.plain))) return true;
    text = unescape(as_view(text.plain), Escapes::percent);
  }
  return has_dot_segment(as_view(text.plain));
}

}  // namespace warder
