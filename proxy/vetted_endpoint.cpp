#include "proxy/vetted_endpoint.hpp"

#include <algorithm>

namespace warder {
namespace {

tcp::endpoint to_endpoint(const IpAddress& address, std::uint16_t port) {
  if (address.is_v4()) {
    asio::ip::address_v4::bytes_type bytes{};
    std::copy_n(address.bytes.begin() + 12, 4, bytes.begin());
    return {asio::ip::address_v4(bytes), port};
  }
  asio::ip::address_v6::bytes_type bytes{};
  std::copy(address.bytes.begin(), address.bytes.end(), bytes.begin());
  return {asio::ip::address_v6(bytes), port};
}

}  // namespace

std::optional<VettedEndpoint> VettedEndpoint::vet(const IpAddress& address, std::uint16_t port,
                                                  PrivateAddresses allowed) {
  if (!may_dial(address, allowed)) return std::nullopt;
  return VettedEndpoint(to_endpoint(address, port));
}

VettedEndpoint VettedEndpoint::from_operator(const IpAddress& address, std::uint16_t port) {
  return VettedEndpoint(to_endpoint(address, port));
}

std::string VettedEndpoint::str() const {
  const std::string text = endpoint_.address().to_string();
  return (is_v4() ? text : '[' + text + ']') + ':' + std::to_string(endpoint_.port());
}

}  // namespace warder
