// What is under way is asked about again, in the sweep after its policy was replaced or a secret was taken away: what would
// not be allowed now ends.
#pragma once

#include "proxy/exchange.hpp"

namespace warder {

// Lives in the frame of an exchange, on its worker.
class StillAllowed final : public Swept {
 public:
  explicit StillAllowed(Exchange& exchange)
      : exchange_(exchange),
        policy_seen_(exchange.policy->generation),
        place_(exchange.connection.worker.enlist(*this)) {}
  StillAllowed(const StillAllowed&) = delete;
  ~StillAllowed() override { exchange_.connection.worker.delist(place_); }

  void on_sweep(SteadyTime) override;
  void close() override {}  // the worker stops: others see to that

 private:
  bool is_policy_kept();
  std::optional<Reason> withdrawn_secret();

  Exchange& exchange_;
  std::uint64_t policy_seen_;       // changes
  std::uint64_t secrets_seen_ = 0;  // revocations
  Worker::Place place_;
};

// The same of a connection whose bytes are not inspected: would it be let through now?
bool is_still_allowed(const Session& session, const Authority& authority, const Verdict& verdict);

// A connection that the policy refused as a whole is told so at each request; not, once another policy allows it.
void renew_refusal(Connection& connection);

}  // namespace warder
