// The sessions of one gateway. They share one table of all their placeholders, so that one which is sent out of another
// sandbox is seen for what it is; those of a session that has ended stay in it until the next one begins.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "proxy/session.hpp"

namespace warder {

// Thread-safe.
class Sessions {
 public:
  void add(std::shared_ptr<Session> session);
  void remove(std::string_view id);
  std::vector<std::shared_ptr<Session>> list() const;

 private:
  void share();
  void share_placeholders();  // with the lock held

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Session>> sessions_;
};

}  // namespace warder
