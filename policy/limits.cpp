#include "policy/limits.hpp"

#include <span>

namespace warder {
namespace {

using Unit = LimitInfo::Unit;

constexpr std::array<LimitInfo, kLimits> kInfo{{
    {"requests_per_minute", Unit::count},
    {"requests", Unit::count},
    {"connections_per_minute", Unit::count},
    {"connections", Unit::count},
    {"upload_per_minute", Unit::bytes},
    {"upload", Unit::bytes},
    {"download_per_minute", Unit::bytes},
    {"download", Unit::bytes},
    {"concurrent", Unit::count},
    {"request_body", Unit::bytes},
    {"lifetime", Unit::milliseconds},
}};

struct Scale {
  std::uint64_t factor;
  std::string_view unit;
};
constexpr std::array<Scale, 3> kSizes{
    {{1ULL << 30, "GiB"}, {1ULL << 20, "MiB"}, {1ULL << 10, "KiB"}}};
constexpr std::array<Scale, 3> kTimes{{{3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}}};

// In the largest unit of which it is a whole number.
std::string scaled(std::uint64_t value, std::span<const Scale> scales, std::string_view smallest) {
  for (const Scale& scale : scales) {
    if (value % scale.factor == 0)
      return std::to_string(value / scale.factor) + std::string(scale.unit);
  }
  return std::to_string(value) + std::string(smallest);
}

}  // namespace

const LimitInfo& info(Limit limit) noexcept { return kInfo[static_cast<std::size_t>(limit)]; }

std::string text_of(Limit limit, std::uint64_t value) {
  switch (info(limit).unit) {
    case Unit::count: break;
    case Unit::bytes: return scaled(value, kSizes, "B");
    case Unit::milliseconds: return scaled(value, kTimes, "ms");
  }
  return std::to_string(value);
}

}  // namespace warder
