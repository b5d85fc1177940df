#include "proxy/name_cache.hpp"

#include <algorithm>

namespace warder {
namespace {

struct ResolveCategory final : boost::system::error_category {
  const char* name() const noexcept override { return "warder.resolve"; }
  std::string message(int value) const override {
    switch (static_cast<ResolveError>(value)) {
      case ResolveError::no_such_name: return "the name does not exist";
      case ResolveError::no_address: return "the name has no address";
      case ResolveError::no_answer: return "no answer from the resolver";
      case ResolveError::refused: return "the resolver refused or failed";
      case ResolveError::too_many: return "too many look-ups at a time";
    }
    return "unknown";
  }
};

}  // namespace

error_code make_error_code(ResolveError error) {
  static const ResolveCategory category;
  return {static_cast<int>(error), category};
}

NameCache::NameCache(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 1)) {}

std::chrono::seconds NameCache::lifetime(const NameAnswer& answer) {
  if (answer.addresses)
    return std::clamp(answer.ttl, std::chrono::seconds(0), std::chrono::seconds(kLongest));
  const error_code error = answer.addresses.error();
  const bool of_the_name = error == ResolveError::no_such_name || error == ResolveError::no_address;
  return of_the_name ? kNegative : std::chrono::seconds(0);
}

std::optional<NameAnswer> NameCache::find(const std::string& name,
                                          std::chrono::steady_clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  const auto found = index_.find(name);
  if (found == index_.end()) return std::nullopt;
  if (now >= found->second->until) {
    forget(name);
    return std::nullopt;
  }
  order_.splice(order_.begin(), order_, found->second);
  return found->second->answer;
}

void NameCache::store(const std::string& name, const NameAnswer& answer,
                      std::chrono::steady_clock::time_point now) {
  const std::chrono::seconds kept = lifetime(answer);
  const std::scoped_lock lock(mutex_);
  forget(name);
  if (kept.count() == 0) return;
  if (order_.size() >= capacity_) forget(std::string(order_.back().name));
  order_.push_front({name, answer, now + kept});
  index_[name] = order_.begin();
}

std::size_t NameCache::size() const {
  const std::scoped_lock lock(mutex_);
  return order_.size();
}

void NameCache::forget(const std::string& name) {
  const auto found = index_.find(name);
  if (found == index_.end()) return;
  order_.erase(found->second);
  index_.erase(found);
}

}  // namespace warder
