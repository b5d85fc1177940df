// How many connections one session has to each authority, on all workers together, and who waits for one.
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <string>

namespace warder {

// Thread-safe. Nobody is woken from here: who waits looks again with its worker's sweep.
class OriginQuota {
 public:
  // One that waits; `pool` tells those of one worker from the others'.
  struct Ticket {
    const void* wait = nullptr;
    const void* pool = nullptr;
    bool operator==(const Ticket&) const = default;
  };

  // How many there may be to one authority, and to all of them together.
  struct Most {
    std::size_t per_authority;
    std::size_t in_all;
  };
  // One more connection, if there are fewer than the most and nobody has waited for longer.
  bool take(const std::string& authority, Most most, Ticket ticket);
  void give(const std::string& authority);
  // From now on `ticket` has its place in the queue, until leave().
  void wait(const std::string& authority, Ticket ticket);
  void leave(const std::string& authority, Ticket ticket);
  // Does another worker wait for longer than anybody on this one? Then nothing should be kept idle here.
  bool is_wanted_elsewhere(const std::string& authority, const void* pool) const;

  std::atomic<std::size_t> idle{0};  // connections that carry nothing, to all authorities

 private:
  struct Entry {
    std::size_t open = 0;
    std::list<Ticket> queue;
  };
  void forget_if_empty(std::map<std::string, Entry>::iterator entry);

  mutable std::mutex mutex_;
  std::size_t open_ = 0;
  std::map<std::string, Entry>
      entries_;  // of authorities that have a connection or somebody who waits
  std::atomic<std::size_t> waiting_{0};  // spares the lock where nobody waits for anything
};

}  // namespace warder
