// Names to addresses by getaddrinfo, on a few threads of its own, with a bounded queue and a bounded wait.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "http/authority.hpp"
#include "policy/address_guard.hpp"
#include "proxy/io.hpp"

namespace warder {

class Resolver {
 public:
  static constexpr std::size_t kThreads = 4;
  static constexpr std::size_t kMaxQueued = 256;  // beyond it a look-up fails at once

  Resolver();
  // Does not wait for a getaddrinfo that hangs: its thread owns what it touches and ends by itself.
  ~Resolver();

  // Literals are parsed, never looked up. Empty: nothing found. An error: timed_out, or the queue is full.
  Task<Result<std::vector<IpAddress>>> resolve(HostName host, SteadyDuration limit);

 private:
  struct Job;
  struct Shared;
  static void work(std::shared_ptr<Shared> shared);
  std::shared_ptr<Shared> shared_;
};

}  // namespace warder
