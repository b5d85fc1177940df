// The places in a request target: path segments and query pairs, with the placeholders in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "secrets/grant.hpp"
#include "secrets/matcher.hpp"

namespace warder {

struct TargetHit {
  std::size_t begin;  // its spelling in the target
  std::size_t end;
  std::uint32_t pattern;
  Place place;  // {path} or {query, key as decoded}
};
// Placeholders that stand whole within one path segment or the value of one query pair, as they are
// or percent-encoded once, in their order. Origin or absolute form, or a path alone.
std::vector<TargetHit> target_hits(std::string_view target, const Matcher& placeholders);

struct QueryPair {
  std::size_t begin;  // of the key
  std::size_t value;  // of the value: behind the first '=', or the end
  std::size_t end;
  std::string key;  // decoded once, '+' is a space
};
enum class Separators : std::uint8_t { ampersand, also_semicolon };
std::vector<QueryPair> query_pairs(std::string_view target, Separators by = Separators::ampersand);

// The same pairs without those whose index is in `which` (ascending).
std::string without_pairs(std::string_view target, const std::vector<std::size_t>& which);

// Has it a dot segment to servers that decode before they split, also more than once, or that drop
// ";parameters" or take '\\' for '/'? Unlike is_ambiguous_path() it leaves every other byte alone.
bool leads_elsewhere(std::string_view path);

}  // namespace warder
