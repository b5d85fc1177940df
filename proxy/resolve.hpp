// Names to addresses: a cache, and behind it one c-ares channel on a thread of its own, which starts with the first
// look-up. Workers share both; a name is asked once however many wait for it.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "http/authority.hpp"
#include "proxy/dns_channel.hpp"
#include "proxy/io.hpp"
#include "proxy/life.hpp"
#include "proxy/name_cache.hpp"
#include "proxy/worker.hpp"

namespace warder {

class Resolver {
 public:
  static constexpr std::size_t kMaxLookUps = 256;  // names at a time; a further one fails at once
  static constexpr std::size_t kMaxOfOne = 64;     // of them for one session

  // `servers` as in DnsChannel. Throws std::runtime_error. Starts no thread.
  explicit Resolver(const std::vector<std::string>& servers = {});
  // The workers have ended: nobody waits any more.
  ~Resolver();
  Resolver(const Resolver&) = delete;

  // Literals are parsed, never looked up. Never empty; or a ResolveError, or `closed` when the worker is stopping. The
  // session is known by its `life`.
  Task<Result<std::vector<IpAddress>>> resolve(Worker& worker, HostName host, SteadyDuration limit,
                                               const SessionLife* life = nullptr);

 private:
  class Waiting;
  struct Mailbox;

  // Who waits for a name, and the session that asked for it first.
  struct Flight {
    const void* owner = nullptr;
    std::vector<std::shared_ptr<Mailbox>> waiting;
  };
  void ask(const std::string& name, const void* owner, std::shared_ptr<Mailbox> mailbox);
  // On the thread of `loop_`.
  void begin(const std::string& name, const void* owner, std::shared_ptr<Mailbox> mailbox);
  bool may_begin(const void* owner) const;
  void land(const std::string& name, NameAnswer answer);

  NameCache cache_;
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::unordered_map<std::string, Flight> flights_;
  DnsChannel channel_;  // after flights_: what is under way lands when it goes
  std::once_flag started_;
  std::thread thread_;
};

}  // namespace warder
