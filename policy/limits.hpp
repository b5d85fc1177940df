// What one sandbox may use of the outside, per minute and in all: the keys of a policy's `limits`, and their values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warder {

enum class Limit : std::uint8_t {
  requests_per_minute,
  requests,
  connections_per_minute,
  connections,  // open at a time
  upload_per_minute,
  upload,
  download_per_minute,
  download,
  concurrent,    // exchanges at a time
  request_body,  // of one request
  lifetime,      // of the session
};
inline constexpr std::size_t kLimits = static_cast<std::size_t>(Limit::lifetime) + 1;

struct LimitInfo {
  std::string_view key;
  enum class Unit : std::uint8_t { count, bytes, milliseconds } unit;
};
const LimitInfo& info(Limit limit) noexcept;
inline std::string_view to_string(Limit limit) noexcept { return info(limit).key; }

// "600", "64KiB", "90s": as the configuration reads it.
std::string text_of(Limit limit, std::uint64_t value);

// None has a value unless it was given one. Values are never 0.
class Limits {
 public:
  std::optional<std::uint64_t> find(Limit limit) const { return values_[place(limit)]; }
  void set(Limit limit, std::uint64_t value) { values_[place(limit)] = value; }
  bool empty() const { return *this == Limits(); }
  friend bool operator==(const Limits&, const Limits&) = default;

 private:
  static std::size_t place(Limit limit) { return static_cast<std::size_t>(limit); }
  std::array<std::optional<std::uint64_t>, kLimits> values_{};
};

}  // namespace warder
