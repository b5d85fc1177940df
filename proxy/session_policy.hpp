// What a session may do, as it is now: one snapshot, which each exchange takes once and a reload replaces whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "policy/ask.hpp"
#include "policy/limits.hpp"
#include "policy/policy.hpp"
#include "proxy/client_identity.hpp"
#include "secrets/capture.hpp"
#include "secrets/grant.hpp"

namespace warder {

// Immutable once it is a session's.
struct SessionPolicy {
  Policy policy;
  std::vector<Capture> captures;
  ClientCertificates certificates;
  OnTripwire on_tripwire = OnTripwire::block;
  Limits limits;
  AskLimits ask;
  bool observes = false;         // what no rule allows passes all the same (observe.hpp)
  std::uint64_t generation = 0;  // how many this session had before
};

// Thread-safe. A change is seen by every exchange that begins after it.
class LivePolicy {
 public:
  explicit LivePolicy(SessionPolicy first)
      : now_(std::make_shared<const SessionPolicy>(std::move(first))) {}

  std::shared_ptr<const SessionPolicy> now() const {
    const std::scoped_lock lock(mutex_);
    return now_;
  }
  void replace(SessionPolicy next) {
    const std::scoped_lock lock(mutex_);
    next.generation = now_->generation + 1;
    now_ = std::make_shared<const SessionPolicy>(std::move(next));
    changes_ = now_->generation;
  }
  // How many times it was replaced. Whoever sees a new number gets its snapshot from now().
  std::uint64_t changes() const { return changes_; }

 private:
  mutable std::mutex mutex_;  // guards now_
  std::shared_ptr<const SessionPolicy> now_;
  std::atomic<std::uint64_t> changes_{0};
};

}  // namespace warder
