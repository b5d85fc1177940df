// One verified connection to an origin, carrying one exchange after another.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <variant>

#include "http/h1_parser.hpp"
#include "proxy/dial.hpp"
#include "proxy/input.hpp"

namespace warder {

class Upstream {
 public:
  Upstream(Authority authority, std::unique_ptr<Stream> stream, HeadLimits limits);
  // Resolves, dials and, for https, finishes a handshake that proves `authority.host`.
  static Task<std::variant<std::unique_ptr<Upstream>, DialFailure>> open(Worker& worker, Gateway& gateway,
                                                                         Authority authority,
                                                                         PrivateAddresses allowed);

  const Authority& authority() const { return authority_; }
  // What the rule that it was dialled for allowed.
  PrivateAddresses private_addresses() const { return private_addresses_; }
  Stream& stream() { return *stream_; }
  Input& input() { return input_; }
  H1Parser& parser() { return parser_; }
  const std::string& address() const { return address_; }
  const std::string& tls() const { return tls_; }
  const std::string& leaf() const { return leaf_; }
  std::chrono::microseconds connect_time() const { return connect_time_; }

  // Between exchanges: has the origin closed it, or said something nobody asked for?
  bool is_stale();
  bool was_used() const { return used_; }
  void now_used() { used_ = true; }

 private:
  Authority authority_;
  PrivateAddresses private_addresses_ = PrivateAddresses::refused;
  std::unique_ptr<Stream> stream_;
  Input input_;
  H1Parser parser_;
  std::string address_;
  std::string tls_;
  std::string leaf_;
  std::chrono::microseconds connect_time_{0};
  bool used_ = false;
};

}  // namespace warder
