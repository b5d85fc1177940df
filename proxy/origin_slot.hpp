// A connection's place in its pool: counts it against the session's limit for its authority, from before it is dialled
// until it is gone.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "proxy/origin_pool.hpp"

namespace warder {

class OriginSlot {
 public:
  OriginSlot(std::shared_ptr<OriginPool> pool, std::shared_ptr<Session> session,
             std::string authority)
      : pool_(pool), session_(std::move(session)), authority_(std::move(authority)) {}
  OriginSlot(const OriginSlot&) = delete;
  ~OriginSlot() {
    session_->origins.quota.give(authority_);
    const auto pool = pool_.lock();
    if (!pool) return;
    if (place_) pool->remove_open(*place_);
    pool->wake_all_for(authority_);
  }

  // It has become `stream`, which outlives this.
  void fill(Stream& stream) {
    if (const auto pool = pool_.lock()) place_ = pool->add_open(stream);
  }

 private:
  const std::weak_ptr<OriginPool> pool_;
  const std::shared_ptr<Session> session_;
  const std::string authority_;
  std::optional<OriginPool::Open::iterator> place_;
};

}  // namespace warder
