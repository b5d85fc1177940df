// What ends with a secret: an exchange that sent its value, in the sweep after it is revoked.
#pragma once

#include "proxy/exchange.hpp"

namespace warder {

// Lives in the frame of an exchange, on its worker.
class EndsWithSecret final : public Swept {
 public:
  explicit EndsWithSecret(Exchange& exchange)
      : exchange_(exchange), place_(exchange.connection.worker.enlist(*this)) {}
  EndsWithSecret(const EndsWithSecret&) = delete;
  ~EndsWithSecret() override { exchange_.connection.worker.delist(place_); }

  void on_sweep(SteadyTime) override;
  void close() override {}  // the worker stops: others see to that

 private:
  Exchange& exchange_;
  std::uint64_t seen_ = 0;  // revocations
  Worker::Place place_;
};

}  // namespace warder
