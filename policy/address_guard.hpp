// Which addresses may be dialled for a name, judged on the very address that is dialled, every
// time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace warder {

// 16 bytes; IPv4 as ::ffff:a.b.c.d.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  bool is_v4() const;
  static IpAddress v4(std::array<std::uint8_t, 4> b);
  std::string str() const;
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

enum class AddressClass : std::uint8_t {
  global,       // may be dialled
  private_use,  // RFC 1918, RFC 4193: with allow_private
  forbidden,    // loopback, link-local, this-network, shared (RFC 6598), metadata, multicast,
                // documentation,
  // benchmarking (198.18/15 is our own), IPv4-mapped/-translated/6to4/Teredo of such, reserved
};
AddressClass classify(const IpAddress& address);

enum class PrivateAddresses : bool { refused, allowed };
// The one door to connect(2): false unless the class permits it.
bool may_dial(const IpAddress& address, PrivateAddresses policy);

}  // namespace warder
