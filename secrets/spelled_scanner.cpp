#include "secrets/spelled_scanner.hpp"

#include <algorithm>

namespace warder {

namespace {

bool goes_first(const Matcher::Hit& one, const Matcher::Hit& other) {
  return one.begin != other.begin ? one.begin < other.begin : one.end >= other.end;
}

}  // namespace

std::optional<SpelledScanner::Hit> SpelledScanner::next(std::string_view text, Input input) {
  bytes_.advance(text, input);
  units_.advance(text, input);
  if (!bytes_.hit && !units_.hit) return std::nullopt;
  const bool bytes_win = !units_.hit || (bytes_.hit && goes_first(*bytes_.hit, *units_.hit));
  const Matcher::Hit hit = bytes_win ? *bytes_.hit : *units_.hit;
  // The side without a hit has read all, and may have begun with one that goes first.
  const std::size_t other = bytes_win ? units_.settled() : bytes_.settled();
  if (input == Input::more && other <= hit.begin && !(bytes_.hit && units_.hit))
    return std::nullopt;
  bytes_.go_on_after(hit.end);
  units_.go_on_after(hit.end);
  return Hit{hit, bytes_win ? Found::as_it_stands : Found::spelled};
}

// What it has found or begun within the hit, which may have been its own, is forgotten.
template <class Scanner>
void SpelledScanner::Side<Scanner>::go_on_after(std::size_t end) {
  if (settled() >= end) return;
  hit.reset();
  scanner.restart(end);
}

template <class Scanner>
void SpelledScanner::Side<Scanner>::drop(std::size_t n) {
  scanner.drop(n);
  if (!hit) return;
  hit->begin -= n;
  hit->end -= n;
}

std::size_t SpelledScanner::settled() const { return std::min(bytes_.settled(), units_.settled()); }

void SpelledScanner::drop(std::size_t n) {
  bytes_.drop(n);
  units_.drop(n);
}

}  // namespace warder
