#include "audit/burst.hpp"

#include <utility>

namespace warder::audit {

bool Burst::is_recorded_alone(Time now) {
  const std::scoped_lock lock(mutex_);
  if (!began_ || now - window_ >= kWindow) {
    began_ = true;
    window_ = now;
    alone_ = 0;
  }
  if (alone_ < kAlone) {
    ++alone_;
    return true;
  }
  if (counted_++ == 0) oldest_ = now;
  return false;
}

std::uint64_t Burst::take(Time now) {
  const std::scoped_lock lock(mutex_);
  if (counted_ == 0 || now - oldest_ < kTogether) return 0;
  return std::exchange(counted_, 0);
}

std::uint64_t Burst::take_rest() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(counted_, 0);
}

void Burst::put_back(std::uint64_t many) {
  const std::scoped_lock lock(mutex_);
  counted_ += many;
}

}  // namespace warder::audit
