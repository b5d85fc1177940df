// Time comes in as a parameter, so that tests own it.
#pragma once

#include <chrono>
#include <string>

namespace warder {

struct Clock {
  virtual ~Clock() = default;
  virtual std::chrono::system_clock::time_point now() const = 0;
  virtual std::chrono::nanoseconds monotonic() const = 0;  // since boot
};

struct SystemClock final : Clock {
  std::chrono::system_clock::time_point now() const override;
  std::chrono::nanoseconds monotonic() const override;
};

// RFC 3339, UTC, microseconds: "2026-11-29T20:56:01.123456Z".
std::string rfc3339(std::chrono::system_clock::time_point at);

}  // namespace warder
