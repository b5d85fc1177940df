// What a gateway counts, for Prometheus: taken from the audit records on their way, so that a metric never says what
// no record does.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "audit/log.hpp"

namespace warder {

// What is so at the moment of a scrape.
struct GatewayGauges {
  std::uint64_t sessions = 0;
  std::uint64_t connections = 0;
};

// Labels are words of ours (reasons, protocols, ways in): their number is bounded, whatever a sandbox does.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;

  // Any thread; a few atomic additions.
  void count(const audit::Record& record);
  void count(const audit::Receipt& receipt);

  // The text exposition format, version 0.0.4.
  std::string text(const GatewayGauges& now, bool audit_healthy) const;

 private:
  struct Series;
  std::unique_ptr<Series> series_;
};

// A log that counts what goes into it.
class CountedLog final : public audit::Log {
 public:
  CountedLog(std::unique_ptr<audit::Log> log, Metrics& metrics)
      : log_(std::move(log)), metrics_(metrics) {}

  void append(audit::Record record, audit::Durability durability, unsigned reserve,
              Done done) override {
    metrics_.count(record);
    log_->append(std::move(record), durability, reserve, std::move(done));
  }
  bool append_receipt(audit::Receipt receipt) override {
    metrics_.count(receipt);
    return log_->append_receipt(std::move(receipt));
  }
  bool healthy() const override { return log_->healthy(); }
  bool close() override { return log_->close(); }
  std::filesystem::path file() const override { return log_->file(); }

 private:
  std::unique_ptr<audit::Log> log_;
  Metrics& metrics_;
};

}  // namespace warder
