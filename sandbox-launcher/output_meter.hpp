// A pipe between CMD's output and ours, which counts: what passes the bound is not passed on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/fd.hpp"

namespace warder {

class OutputMeter {
 public:
  OutputMeter() = default;
  OutputMeter(OutputMeter&&) = default;
  OutputMeter& operator=(OutputMeter&&) = default;
  ~OutputMeter();

  // False: a pipe cannot be made; errno says why.
  bool open(std::uint64_t most);
  bool is_open() const { return shared_ != nullptr; }
  // What CMD is to have as its stdout and stderr. -1: what we have.
  int theirs_out() const { return theirs_[0].get(); }
  int theirs_err() const { return theirs_[1].get(); }
  // Starts two threads and lets go of CMD's ends.
  void start();
  // Readable when something is to be looked at: the bound is passed, or a pipe is at its end.
  int wake() const { return shared_ ? shared_->wake.get() : -1; }
  void take_wake() const;
  bool is_over() const { return shared_ && shared_->over; }
  bool is_drained() const { return !shared_ || shared_->running == 0; }
  std::uint64_t bytes() const { return shared_ ? shared_->bytes.load() : 0; }

 private:
  struct Shared {
    std::uint64_t most = 0;
    std::atomic<std::uint64_t> bytes = 0;
    std::atomic<bool> over = false;
    std::atomic<int> running = 0;
    Fd wake;
  };
  static void relay(const std::shared_ptr<Shared>& shared, Fd from, int to);
  std::shared_ptr<Shared> shared_;
  Fd ours_[2];
  Fd theirs_[2];
  std::vector<std::thread> threads_;
};

}  // namespace warder
