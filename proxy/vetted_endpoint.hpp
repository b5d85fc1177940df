// An address that may be dialled. connect(2) takes nothing else.
#pragma once

#include <optional>
#include <string>

#include "policy/address_guard.hpp"
#include "proxy/io.hpp"

namespace warder {

// Made by the check, or by the operator's own map.
class VettedEndpoint {
 public:
  static std::optional<VettedEndpoint> vet(const IpAddress& address, std::uint16_t port,
                                           PrivateAddresses allowed);
  // gateway.upstream.connect_to: the operator's word, outside the check.
  static VettedEndpoint from_operator(const IpAddress& address, std::uint16_t port);

  const tcp::endpoint& endpoint() const { return endpoint_; }
  bool is_v4() const { return endpoint_.address().is_v4(); }
  std::string str() const;  // "192.0.2.1:443", "[2001:db8::1]:443"
  friend bool operator==(const VettedEndpoint&, const VettedEndpoint&) = default;

 private:
  explicit VettedEndpoint(tcp::endpoint endpoint) : endpoint_(std::move(endpoint)) {}
  tcp::endpoint endpoint_;
};

}  // namespace warder
