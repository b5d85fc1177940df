// What one sandbox has used of its limits. Pure: time comes in with each question.
// What is limited per minute is a bucket: it holds a minute's worth and fills evenly. After an idle minute all of it may
// go at once, then one by one as it fills; that is exact to the millisecond, without a record of the past.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "policy/limits.hpp"

namespace warder {

// A limit that stands in the way.
struct Exceeded {
  Limit limit;
  std::uint64_t value;                             // of the limit
  std::optional<std::chrono::milliseconds> frees;  // none: time alone does not free it
  std::optional<std::uint64_t> left;               // of a total that this is too much for

  // "requests_per_minute: 600 are used up; frees in 12 s"
  std::string sentence() const;
  // "requests_per_minute: 600": the same at any time.
  std::string name() const;
  // Whole seconds, rounded up, so that who waits so long is let through.
  std::optional<std::chrono::seconds> retry_after() const;
};

// How full a bucket of so many units is. One unit drains in a minute divided by the rate.
class Bucket {
 public:
  using Milliseconds = std::chrono::milliseconds;
  static constexpr Milliseconds kMinute{60'000};

  // From `now` until there is room for `units`; zero: there is.
  Milliseconds until_free(std::uint64_t units, std::uint64_t rate, Milliseconds now);
  void add(std::uint64_t units, std::uint64_t rate, Milliseconds now);

 private:
  void drain(std::uint64_t rate, Milliseconds now);

  std::uint64_t held_ = 0;  // units times kMinute, so that nothing is ever rounded
  Milliseconds at_{0};
};

// Thread-safe. Counts are kept when the limits change.
class Meter {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Way : std::uint8_t { up, down };

  explicit Meter(Time began = std::chrono::steady_clock::now()) : began_(began) {}

  void set_limits(const Limits& limits);
  std::optional<std::uint64_t> find(Limit limit) const;

  // One more of them: counted unless something stands in the way. Each one that was counted ends. `head` bytes leave with
  // a request, and `body` are said to follow.
  std::optional<Exceeded> begin_request(std::uint64_t head, std::uint64_t body, Time now);
  void end_request();
  std::optional<Exceeded> open_connection(Time now);
  void close_connection();
  // Bytes on a connection that carries no requests: may there be any?
  std::optional<Exceeded> begin_bytes(Time now);

  // Bytes that are about to pass. Exceeded: they must not, and nothing after them. Else they may after the wait, which
  // others' bytes queue up behind.
  struct Passage {
    std::optional<Exceeded> exceeded;
    std::chrono::milliseconds wait{0};
  };
  Passage pass(Way way, std::uint64_t bytes, Time now);

  // Is the session's lifetime over?
  std::optional<Exceeded> is_over(Time now) const;

 private:
  struct Side {
    std::atomic<std::uint64_t> used{0};
    Bucket bucket;
  };
  Bucket::Milliseconds since_began(Time now) const;
  // The one that stands in the way for longest stays.
  void check_rate(std::optional<Exceeded>& worst, Limit limit, Bucket& bucket, Time now);
  void check_count(std::optional<Exceeded>& worst, Limit limit, std::uint64_t used);
  void check_bytes(std::optional<Exceeded>& worst, std::uint64_t upload, Time now);
  void add(Limit limit, Bucket& bucket, std::uint64_t units, Time now);
  Side& side(Way way) { return sides_[static_cast<std::size_t>(way)]; }

  const Time began_;
  std::atomic<bool> limits_bytes_{false};  // spares the lock where bytes are only counted
  std::atomic<std::uint64_t> lifetime_{0};
  mutable std::mutex mutex_;
  Limits limits_;
  Bucket requests_bucket_;
  Bucket connections_bucket_;
  std::array<Side, 2> sides_;
  std::uint64_t requests_ = 0;
  std::uint64_t concurrent_ = 0;
  std::uint64_t connections_ = 0;
};

}  // namespace warder
