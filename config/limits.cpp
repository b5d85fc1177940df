// A policy's `limits`: numbers, sizes with a unit, and a time.
#include <charconv>
#include <span>

#include "config/keys.hpp"
#include "config/sections.hpp"
#include "policy/quote.hpp"

namespace warder {

const Keys& limit_keys() {
  static const Keys kKeys = [] {
    Keys keys{"limits", {}};
    for (std::size_t i = 0; i < kLimits; ++i)
      keys.known.emplace_back(to_string(static_cast<Limit>(i)));
    return keys;
  }();
  return kKeys;
}

namespace {

using Unit = LimitInfo::Unit;

struct Scale {
  std::string_view unit;
  std::uint64_t factor;
};
// What a meter counts without running over (policy/meter.hpp).
constexpr std::uint64_t kMostOf[] = {1'000'000'000, 1ULL << 40, 720ULL * 3'600'000};
constexpr Scale kNumber[] = {{"", 1}};
constexpr Scale kSizes[] = {
    {"B", 1}, {"KiB", 1ULL << 10}, {"MiB", 1ULL << 20}, {"GiB", 1ULL << 30}};
constexpr Scale kTimes[] = {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}};
constexpr std::span<const Scale> kScales[] = {kNumber, kSizes, kTimes};
constexpr const char* kWrite[] = {
    "write a number from 1 to 1000000000",
    "write a size with its unit, from 1B to 1024GiB, such as 64KiB, 1MiB or 1GiB",
    "write a time with its unit, from 1ms to 720h, such as 90s, 30m or 8h"};

std::uint64_t value_of(const Reader& reader, const YamlNode& node, Limit limit) {
  const std::string key(to_string(limit));
  const std::string& text = reader.text(node, key);
  const auto unit = static_cast<std::size_t>(info(limit).unit);
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string_view given(rest, static_cast<std::size_t>(end - rest));
  for (const Scale& scale : kScales[unit]) {
    const bool fits = number > 0 && number <= kMostOf[unit] / scale.factor;
    if (error == std::errc{} && given == scale.unit && fits) return number * scale.factor;
  }
  reader.fail(node.place, "'" + key + "' is " + in_quotes(text) + ": " + kWrite[unit]);
}

}  // namespace

Limits read_limits(const Reader& reader, const YamlNode& node) {
  reader.expect_map(node, "limits");
  reader.expect_keys(node, limit_keys());
  Limits limits;
  for (std::size_t i = 0; i < kLimits; ++i) {
    const auto limit = static_cast<Limit>(i);
    if (const YamlNode* value = reader.find(node, to_string(limit)))
      limits.set(limit, value_of(reader, *value, limit));
  }
  return limits;
}

}  // namespace warder
