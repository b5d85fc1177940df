// The configuration that counts now. A reload replaces it; whoever holds the one before may go on with it.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "config/config.hpp"

namespace warder {

// Thread-safe.
class CurrentConfig {
 public:
  explicit CurrentConfig(std::shared_ptr<const Config> first) : now_(std::move(first)) {}

  std::shared_ptr<const Config> now() const {
    const std::scoped_lock lock(mutex_);
    return now_;
  }
  void replace(std::shared_ptr<const Config> next) {
    const std::scoped_lock lock(mutex_);
    now_ = std::move(next);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Config> now_;
};

}  // namespace warder
