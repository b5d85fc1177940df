// From an authority to a connected socket: resolve, vet each address, connect. A name never reaches connect(2).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "http/authority.hpp"
#include "policy/address_guard.hpp"
#include "proxy/gateway.hpp"
#include "proxy/stream.hpp"

namespace warder {

// An address that may be dialled. Made by the check, or by the operator's own map.
class VettedEndpoint {
 public:
  static std::optional<VettedEndpoint> vet(const IpAddress& address, std::uint16_t port,
                                           PrivateAddresses allowed);
  // gateway.upstream.connect_to: the operator's word, outside the check.
  static VettedEndpoint from_operator(const IpAddress& address, std::uint16_t port);
  const tcp::endpoint& endpoint() const { return endpoint_; }

 private:
  explicit VettedEndpoint(tcp::endpoint endpoint) : endpoint_(std::move(endpoint)) {}
  tcp::endpoint endpoint_;
};

struct DialFailure {
  Reason reason;
  std::string detail;  // one sentence, for the record and the answer
};

// Tries each address in turn.
Task<std::variant<std::unique_ptr<Stream>, DialFailure>> dial(Worker& worker, Gateway& gateway,
                                                              Authority authority,
                                                              PrivateAddresses allowed);

}  // namespace warder
