// The origins of one client connection: its session's pool on this worker, and what only its own first request is told.
#pragma once

#include <memory>
#include <optional>
#include <variant>

#include "proxy/origin_pool.hpp"

namespace warder {

class Origins {
 public:
  Origins(Worker& worker, Gateway& gateway, std::shared_ptr<Session> session);
  Origins(const Origins&) = delete;

  // A verified leg to `key`, of `newest` or HTTP/1.1 as the origin chooses. `wait` may give up while it is another's
  // turn.
  Task<OriginPool::Acquired> acquire(OriginKey key, HttpVersion newest, OriginWait& wait);

  // Before any request: what the origin speaks. When it cannot be reached the first acquire() of the same key is told so.
  // `permit`: OriginPool::probe().
  Task<HttpVersion> probe(OriginKey key, OriginPool::Permit permit);

 private:
  // Made when it is first asked for: most connections that are refused need none.
  const std::shared_ptr<OriginPool>& pool();

  Worker& worker_;
  Gateway& gateway_;
  const std::shared_ptr<Session> session_;
  std::shared_ptr<OriginPool> pool_;
  struct Failed {
    OriginKey key;
    DialFailure failure;
  };
  std::optional<Failed> failed_;
};

}  // namespace warder
