#include "base/bounds.hpp"

#include <algorithm>
#include <charconv>
#include <span>

namespace warder {
namespace {

struct Scale {
  std::string_view unit;
  std::uint64_t factor;
};
enum class Unit : std::uint8_t { bytes, thousandths, count, milliseconds };
struct Info {
  std::string_view key;
  Unit unit;
  std::uint64_t least;
  std::uint64_t most;
  const char* write;
};

constexpr std::uint64_t kMiB = 1ULL << 20;
constexpr std::uint64_t kMostBytes = 1ULL << 50;
constexpr const char* kSize = "write a size with its unit, up to 1024TiB, such as 512MiB or 2GiB";
constexpr std::array<Info, kBounds> kInfo{{
    {"memory", Unit::bytes, 16 * kMiB, kMostBytes,
     "write a size with its unit, from 16MiB to 1024TiB, such as 512MiB or 2GiB"},
    {"cpus", Unit::thousandths, 10, 1'024'000,
     "write a number of processors from 0.01 to 1024, with up to three decimals, such as 2 or 1.5"},
    {"pids", Unit::count, 1, 4'000'000, "write a number from 1 to 4000000"},
    {"file_size", Unit::bytes, 1, kMostBytes, kSize},
    {"open_files", Unit::count, 16, 1'000'000, "write a number from 16 to 1000000"},
    {"disk", Unit::bytes, kMiB, kMostBytes,
     "write a size with its unit, from 1MiB to 1024TiB, such as 512MiB or 5GiB"},
    {"output", Unit::bytes, 1, kMostBytes, kSize},
    {"time", Unit::milliseconds, 1, 720ULL * 3'600'000,
     "write a time with its unit, from 1ms to 720h, such as 90s, 30m or 8h"},
}};

constexpr Scale kSizes[] = {
    {"TiB", 1ULL << 40}, {"GiB", 1ULL << 30}, {"MiB", kMiB}, {"KiB", 1ULL << 10}, {"B", 1}};
constexpr Scale kTimes[] = {{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};
constexpr Scale kNumber[] = {{"", 1}};

std::span<const Scale> scales_of(Unit unit) {
  if (unit == Unit::bytes) return kSizes;
  if (unit == Unit::milliseconds) return kTimes;
  return kNumber;
}

const Info& info(Bound bound) { return kInfo[static_cast<std::size_t>(bound)]; }

// "1.5" is 1500. nullopt: it is no number of that kind.
std::optional<std::uint64_t> thousandths(std::string_view text) {
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view rest = dot == std::string_view::npos ? "" : text.substr(dot + 1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (whole.empty() || whole.size() > 4 || rest.size() > 3 ||
      (dot != std::string_view::npos && rest.empty()) ||
      !std::all_of(whole.begin(), whole.end(), is_digit) ||
      !std::all_of(rest.begin(), rest.end(), is_digit))
    return std::nullopt;
  std::string digits(whole);
  digits.append(rest).append(3 - rest.size(), '0');
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::optional<std::uint64_t> scaled(Unit unit, std::string_view text) {
  if (unit == Unit::thousandths) return thousandths(text);
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view given(rest, static_cast<std::size_t>(end - rest));
  for (const Scale& scale : scales_of(unit)) {
    if (given == scale.unit && number <= UINT64_MAX / scale.factor) return number * scale.factor;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Bound bound) noexcept { return info(bound).key; }

std::string flag_of(Bound bound) {
  std::string flag = "--" + std::string(to_string(bound));
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::optional<Bound> bound_named(std::string_view key) noexcept {
  for (std::size_t i = 0; i < kBounds; ++i) {
    if (kInfo[i].key == key) return static_cast<Bound>(i);
  }
  return std::nullopt;
}

std::variant<std::uint64_t, std::string> parse_bound(Bound bound, std::string_view text) {
  const Info& known = info(bound);
  const auto value = scaled(known.unit, text);
  if (!value || *value < known.least || *value > known.most) return std::string(known.write);
  return *value;
}

std::string text_of(Bound bound, std::uint64_t value) {
  const Unit unit = info(bound).unit;
  if (unit == Unit::thousandths) {
    std::string text = std::to_string(value / 1'000);
    std::string rest = std::to_string(1'000 + value % 1'000).substr(1);
    while (!rest.empty() && rest.back() == '0') rest.pop_back();
    return rest.empty() ? text : text + "." + rest;
  }
  for (const Scale& scale : scales_of(unit)) {
    if (value >= scale.factor && value % scale.factor == 0)
      return std::to_string(value / scale.factor) + std::string(scale.unit);
  }
  return std::to_string(value);
}

void Bounds::beneath(const Bounds& first) {
  for (std::size_t i = 0; i < kBounds; ++i) {
    if (first.values_[i]) values_[i] = first.values_[i];
  }
}

std::string_view to_string(HeldBound::End end) noexcept {
  switch (end) {
    case HeldBound::End::held: return "held";
    case HeldBound::End::reached: return "reached";
    case HeldBound::End::ended: return "ended";
  }
  return "held";
}

std::string line_of(const HeldBound& held) {
  if (held.end == HeldBound::End::held) return "";
  const std::string what = std::string(to_string(held.bound)) + " " +
                           text_of(held.bound, held.value) + " (" + held.mechanism + ")";
  if (held.end == HeldBound::End::ended) return "the command was ended: " + what;
  return "a limit was reached: " + what + ": " + std::to_string(held.used) +
         (held.used == 1 ? " process or thread was refused" : " processes or threads were refused");
}

}  // namespace warder
