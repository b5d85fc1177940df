// How far a session's life is, and what ends with it.
#pragma once

#include <atomic>
#include <cstdint>

#include "proxy/worker.hpp"

namespace warder {

// open: takes connections; draining: what runs may end; leaving: what still runs and can be told so ends; ended:
// everything is closed.
enum class Life : std::uint8_t { open, draining, leaving, ended };
using SessionLife = std::atomic<Life>;  // only ever later

// Lives in the frame of one that waits on a session's behalf: closes it in the sweep after the session's end.
class EndsWithSession final : public Swept {
 public:
  // `life` may be null: it never ends. `what` outlives this.
  EndsWithSession(Worker& worker, const SessionLife* life, Closable& what)
      : worker_(worker), life_(life), what_(what), place_(worker.enlist(*this)) {}
  EndsWithSession(const EndsWithSession&) = delete;
  ~EndsWithSession() override { worker_.delist(place_); }
  void on_sweep(SteadyTime) override {
    if (life_ != nullptr && *life_ == Life::ended) close();
  }
  void close() override { what_.close(); }

 private:
  Worker& worker_;
  const SessionLife* life_;
  Closable& what_;
  Worker::Place place_;  // last: a worker that is stopping closes this at once
};

}  // namespace warder
