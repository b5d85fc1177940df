#include "proxy/denials.hpp"

namespace warder {
namespace {

// A target may be 64 KiB long; no list for a person needs that.
std::string shortened(const std::string& what) {
  if (what.size() <= Denials::kMaxWhat) return what;
  std::size_t size = Denials::kMaxWhat;
  while (size > 0 && (static_cast<unsigned char>(what[size]) & 0xc0) == 0x80)
    --size;  // no half character
  return what.substr(0, size) + "…";
}

}  // namespace

bool Denials::add(Reason reason, const std::string& full, const std::string& suggestion) {
  const std::string what = shortened(full);
  const std::scoped_lock lock(mutex_);
  ++total_;
  const auto key = std::make_pair(reason, what);
  if (const auto known = index_.find(key); known != index_.end()) {
    ++kinds_[known->second].count;
    return false;
  }
  if (kinds_.size() >= kMaxKinds) {
    ++others_;
    return false;
  }
  index_.emplace(key, kinds_.size());
  kinds_.push_back({reason, what, suggestion, 1});
  const SteadyTime now = std::chrono::steady_clock::now();
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    lines_ = 0;
  }
  return ++lines_ <= kLinesPerSecond;
}

std::vector<Denial> Denials::list() const {
  const std::scoped_lock lock(mutex_);
  return kinds_;
}

std::uint64_t Denials::total() const {
  const std::scoped_lock lock(mutex_);
  return total_;
}

std::uint64_t Denials::others() const {
  const std::scoped_lock lock(mutex_);
  return others_;
}

}  // namespace warder
