#include "base/clock.hpp"

#include <time.h>

#include <array>
#include <cstdio>

namespace warder {

std::chrono::system_clock::time_point SystemClock::now() const {
  return std::chrono::system_clock::now();
}

std::chrono::nanoseconds SystemClock::monotonic() const {
  timespec at{};
  ::clock_gettime(CLOCK_BOOTTIME, &at);
  return std::chrono::seconds(at.tv_sec) + std::chrono::nanoseconds(at.tv_nsec);
}

std::string rfc3339(std::chrono::system_clock::time_point at) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()).count();
  const time_t seconds = static_cast<time_t>(micros / 1'000'000);
  tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  const int n = std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ",
                              parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                              parts.tm_min, parts.tm_sec, static_cast<int>(micros % 1'000'000));
  return std::string(text.data(), static_cast<std::size_t>(n));
}

}  // namespace warder
