// What one stream is searched for while its session's secrets change: a rotated value, or one that was minted, is masked in
// what began before it too.
#pragma once

#include <cstdint>
#include <memory>

#include "secrets/live_secrets.hpp"
#include "secrets/mask.hpp"

namespace warder {

// Not shared. A change is followed only when follow() is called, so that a Masker can go on with the next set.
class FollowedMask {
 public:
  // Never changes; borrowed.
  FollowedMask(const MaskSet& fixed) : set_(&fixed) {}
  explicit FollowedMask(const LiveSecrets& live) : live_(&live) { take(); }

  const MaskSet& set() const { return *set_; }
  // Is there anything to search for, or may there ever be?
  bool is_needed() const { return !set_->empty() || (live_ != nullptr && live_->may_mint()); }
  // True: set() is another one than before, which is gone.
  bool follow() {
    if (live_ == nullptr || live_->changes() == seen_) return false;
    take();
    return true;
  }
  // The same for one that is at work.
  void follow(std::optional<Masker>& masker) {
    if (live_ == nullptr || live_->changes() == seen_) return;
    const auto before = secrets_;  // until the masker has let go of it
    take();
    if (masker) masker->go_on_with(*set_);
  }

 private:
  void take() {
    seen_ = live_->changes();  // first: a change in between is followed once more
    secrets_ = live_->now();
    set_ = &secrets_->mask_set();
  }

  const LiveSecrets* live_ = nullptr;
  std::uint64_t seen_ = 0;
  std::shared_ptr<const SessionSecrets> secrets_;
  const MaskSet* set_ = nullptr;
};

}  // namespace warder
