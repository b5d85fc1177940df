// What one session's workers share about its origins. The connections themselves stay on their worker, in its pool.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "proxy/origin_quota.hpp"
#include "proxy/tls_sessions.hpp"

namespace warder {

class OriginPool;
class Worker;
struct Gateway;
struct Session;

class SessionOrigins {
 public:
  // The session's pool on `worker`, made when there is none; on that worker's thread only. (origin_pool.cpp)
  static std::shared_ptr<OriginPool> pool_on(Worker& worker, Gateway& gateway,
                                             const std::shared_ptr<Session>& session);

  OriginQuota quota;
  TlsSessions tls;

 private:
  std::mutex mutex_;
  std::vector<std::pair<const Worker*, std::weak_ptr<OriginPool>>> pools_;
};

}  // namespace warder
