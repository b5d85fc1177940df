// Which refusals of one kind are recorded one by one, and how many only by their number: a sandbox that asks for
// forbidden names without end, or a stranger that knocks without a token, does not fill the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

namespace warder::audit {

// Thread-safe.
class Burst {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr unsigned kAlone = 200;  // are recorded by themselves in each …
  static constexpr std::chrono::seconds kWindow{10};
  static constexpr std::chrono::seconds kTogether{1};  // of further ones make one record

  // True: record this one by itself. False: it has been counted for take().
  bool is_recorded_alone(Time now);
  // How many were counted: for the record that stands for them all, once the oldest is kTogether old; 0 before.
  std::uint64_t take(Time now);
  std::uint64_t take_rest();          // whatever their age: the session ends
  void put_back(std::uint64_t many);  // the record could not be written

 private:
  std::mutex mutex_;
  bool began_ = false;
  Time window_{};
  unsigned alone_ = 0;  // in this window
  Time oldest_{};
  std::uint64_t counted_ = 0;
};

}  // namespace warder::audit
