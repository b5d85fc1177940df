// The origins of one client connection: what one exchange leaves open the next one uses.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "proxy/dial.hpp"
#include "proxy/h1_origin.hpp"
#include "proxy/legs.hpp"

namespace warder {

struct H2Connection;

class Origins {
 public:
  Origins(Worker& worker, Gateway& gateway);
  ~Origins();
  Origins(const Origins&) = delete;

  // A verified leg to `authority`: a kept connection if one fits, else a new one, of `newest` or HTTP/1.1 as the origin
  // chooses. The legs must not outlive this.
  Task<std::variant<std::unique_ptr<OriginLeg>, DialFailure>> acquire(Authority authority,
                                                                      PrivateAddresses allowed,
                                                                      HttpVersion newest);

  // What a dial that was made before any request came to: the first acquire() that it fits takes it. `offered`: the
  // newest version that the origin could choose.
  void prime(Upstream opened, HttpVersion offered);
  void prime(DialFailure failure, PrivateAddresses allowed);

 private:
  static constexpr std::size_t kMaxIdle = 16;
  std::unique_ptr<OriginLeg> take_kept(const Authority& authority, PrivateAddresses allowed,
                                       HttpVersion newest);
  std::unique_ptr<OriginLeg> leg_on(std::unique_ptr<H1Connection> connection);
  std::unique_ptr<OriginLeg> take_new(HttpVersion newest);
  void end_dial();

  Worker& worker_;
  Gateway& gateway_;
  std::vector<std::unique_ptr<H1Connection>> idle_;
  std::vector<std::shared_ptr<H2Connection>> h2_;  // one, unless the origin allows too few streams
  std::optional<std::pair<DialFailure, PrivateAddresses>> failed_;
  bool dialling_ = false;  // a connection that may turn out to be for all
  bool speaks_h1_ =
      false;  // the origin has chosen HTTP/1.1: each exchange needs a connection of its own
  asio::steady_timer dialled_;
};

}  // namespace warder
