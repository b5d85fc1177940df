#include "secrets/spelled_scanner.hpp"

#include <algorithm>

namespace warder {

std::optional<SpelledScanner::Hit> SpelledScanner::next(std::string_view text, Input input) {
  while (true) {
    if (!byte_match_) byte_match_ = bytes_.next(text);
    if (!unit_match_) unit_match_ = units_.next(text, input);
    const bool is_read = !byte_match_ && !unit_match_;
    if (is_read && input == Input::last) {
      bytes_.end();
      units_.end();
    }
    std::size_t begun = settled();
    for (const auto& match : {byte_match_, unit_match_}) {
      if (match) begun = std::min(begun, match->begin);
    }
    if (const auto hit = clusters_.take(begun)) return hit;
    if (is_read) return std::nullopt;
    // The one that ends first, so that neither scanner gets far ahead.
    const bool is_byte = !unit_match_ || (byte_match_ && byte_match_->end <= unit_match_->end);
    auto& match = is_byte ? byte_match_ : unit_match_;
    clusters_.add(*match, is_byte ? Found::as_it_stands : Found::spelled);
    match.reset();
  }
}

std::size_t SpelledScanner::settled() const { return std::min(bytes_.settled(), units_.settled()); }

void SpelledScanner::drop(std::size_t n) {
  bytes_.drop(n);
  units_.drop(n);
  clusters_.drop(n);
}

}  // namespace warder
