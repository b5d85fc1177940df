// The real audit log with a window: what it was given, and switches that make it refuse.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "audit/log.hpp"

namespace warder::test {

class WatchedLog final : public audit::Log {
 public:
  explicit WatchedLog(std::unique_ptr<audit::Log> real) : real_(std::move(real)) {}

  std::atomic<bool> refuses_records{false};
  std::atomic<bool> refuses_receipts{false};
  std::atomic<bool> keeps_silent{false};  // neither yes nor no, until release()

  void append(audit::Record record, audit::Durability durability, unsigned reserve,
              Done done) override {
    if (refuses_records) return done(false, 0);
    {
      const std::scoped_lock lock(mutex_);
      if (const auto* intent = std::get_if<audit::Intent>(&record)) {
        intents_.push_back(*intent);
        durabilities_.push_back(durability);
      }
      if (keeps_silent) {
        waiting_.push_back(std::move(done));
        return;
      }
    }
    real_->append(std::move(record), durability, reserve, std::move(done));
  }
  bool append_receipt(audit::Receipt receipt) override {
    {
      const std::scoped_lock lock(mutex_);
      if (refuses_receipts) {
        ++refused_receipts_;
        return false;
      }
      receipts_.push_back(receipt);
    }
    return real_->append_receipt(std::move(receipt));
  }
  bool healthy() const override { return real_->healthy(); }
  bool close() override { return real_->close(); }
  std::filesystem::path file() const override { return real_->file(); }

  // Answers what was kept waiting, on the caller's thread, as a writer that was slow would.
  void release() {
    std::vector<Done> waiting;
    {
      const std::scoped_lock lock(mutex_);
      waiting.swap(waiting_);
    }
    for (const Done& done : waiting) done(true, 7);
  }

  std::vector<audit::Intent> intents() const {
    const std::scoped_lock lock(mutex_);
    return intents_;
  }
  std::vector<audit::Durability> durabilities() const {
    const std::scoped_lock lock(mutex_);
    return durabilities_;
  }
  std::vector<audit::Receipt> receipts() const {
    const std::scoped_lock lock(mutex_);
    return receipts_;
  }
  std::size_t refused_receipts() const {
    const std::scoped_lock lock(mutex_);
    return refused_receipts_;
  }
  std::size_t waiting() const {
    const std::scoped_lock lock(mutex_);
    return waiting_.size();
  }

 private:
  std::unique_ptr<audit::Log> real_;
  mutable std::mutex mutex_;
  std::vector<audit::Intent> intents_;
  std::vector<audit::Durability> durabilities_;
  std::vector<audit::Receipt> receipts_;
  std::vector<Done> waiting_;
  std::size_t refused_receipts_ = 0;
};

}  // namespace warder::test
