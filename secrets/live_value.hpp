// One value that changes while it is used: a listener's token.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "secrets/secret_value.hpp"

namespace warder {

// Thread-safe.
class LiveValue {
 public:
  explicit LiveValue(std::shared_ptr<const SecretValue> first) : now_(std::move(first)) {}
  // null: there is none any more, or for now: nothing matches it.
  std::shared_ptr<const SecretValue> now() const {
    const std::scoped_lock lock(mutex_);
    return now_;
  }
  void set(std::shared_ptr<const SecretValue> value) {
    const std::scoped_lock lock(mutex_);
    now_ = std::move(value);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const SecretValue> now_;
};

}  // namespace warder
