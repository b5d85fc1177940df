// One thread with one loop. A connection stays on the worker that got it; nothing is shared but the immutable.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <thread>

#include "proxy/io.hpp"

namespace warder {

class Closable {
 public:
  virtual ~Closable() = default;
  // Ends every wait of this object for good.
  virtual void close() = 0;
};

// Something that the worker looks at a few times a second: deadlines are stamps, never timers per operation.
class Swept : public Closable {
 public:
  virtual void on_sweep(SteadyTime now) = 0;
};

class Worker {
 public:
  static constexpr std::chrono::milliseconds kSweepEvery{250};

  Worker();
  ~Worker();  // stop()
  Worker(const Worker&) = delete;

  asio::io_context& loop() { return loop_; }
  void start();
  // Any thread. Closes what is swept, lets its coroutines run to their ends for at most `grace`, then joins.
  void stop(std::chrono::milliseconds grace);
  // Any thread. Sweeps at once, and not within kSweepEvery: something has just ended.
  void sweep_soon();

  // On this worker's thread only.
  using Place = std::list<Swept*>::iterator;
  Place enlist(Swept& swept);
  void delist(Place place) { swept_.erase(place); }
  // Runs `task` as a root coroutine; an exception out of it is a bug and ends the process.
  void spawn(Task<> task);
  std::size_t active() const { return active_; }

 private:
  Task<> sweep();
  void look(SteadyTime now);

  std::list<Swept*> swept_;  // before loop_: frames that die with the loop take themselves off it
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::size_t active_ = 0;
  bool stopping_ = false;
  SteadyTime stop_by_{};
  std::thread thread_;
};

}  // namespace warder
