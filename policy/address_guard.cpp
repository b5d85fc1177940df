#include "policy/address_guard.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

namespace warder {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

struct Prefix {
  Bytes bytes;
  unsigned bits;
  AddressClass means;
};

constexpr Bytes mapped(std::array<std::uint8_t, 4> v4) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, v4[0], v4[1], v4[2], v4[3]};
}
constexpr Prefix net4(std::array<std::uint8_t, 4> address, unsigned bits,
                      AddressClass means = AddressClass::forbidden) {
  return {mapped(address), 96 + bits, means};
}
constexpr Prefix net6(std::array<std::uint16_t, 8> groups, unsigned bits,
                      AddressClass means = AddressClass::forbidden) {
  Bytes bytes{};
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[2 * i] = static_cast<std::uint8_t>(groups[i] >> 8);
    bytes[2 * i + 1] = static_cast<std::uint8_t>(groups[i] & 0xff);
  }
  return {bytes, bits, means};
}

// The first entry that contains the address decides, so a narrow exception stands before its block.
// From the IANA special-purpose registries (RFC 6890), and the clouds' own metadata addresses.
constexpr auto kTable = std::to_array<Prefix>({
    net4({168, 63, 129, 16}, 32),  // Azure WireServer: a global address that only answers inside
    net4({0, 0, 0, 0}, 8),         // this network; Linux connects 0.0.0.0 to itself
    net4({10, 0, 0, 0}, 8, AddressClass::private_use),
    net4({100, 64, 0, 0}, 10),   // shared (RFC 6598), and Alibaba's metadata 100.100.100.200
    net4({127, 0, 0, 0}, 8),     // loopback
    net4({169, 254, 0, 0}, 16),  // link-local, and metadata 169.254.169.254, 169.254.170.2
    net4({172, 16, 0, 0}, 12, AddressClass::private_use),
    net4({192, 0, 0, 0}, 24),    // protocol assignments, and Oracle's metadata 192.0.0.192
    net4({192, 0, 2, 0}, 24),    // documentation
    net4({192, 88, 99, 0}, 24),  // 6to4 relays (RFC 7526)
    net4({192, 168, 0, 0}, 16, AddressClass::private_use),
    net4({198, 18, 0, 0}, 15),    // benchmarking: our own synthetic addresses
    net4({198, 51, 100, 0}, 24),  // documentation
    net4({203, 0, 113, 0}, 24),   // documentation
    net4({224, 0, 0, 0}, 4),      // multicast
    net4({240, 0, 0, 0}, 4),      // reserved, and broadcast
    net4({0, 0, 0, 0}, 0, AddressClass::global),

    net6({0xfd00, 0xec2}, 32),                        // AWS metadata, DNS, time
    net6({0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254}, 128),  // Google Cloud metadata
    net6({0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42}, 128),   // Scaleway metadata
    net6({0xfc00}, 7, AddressClass::private_use),     // unique local (RFC 4193)
    net6({0x2001}, 23),                               // protocol assignments, Teredo, ORCHID
    net6({0x2001, 0xdb8}, 32),                        // documentation
    net6({0x3fff}, 20),                               // documentation (RFC 9637)
    net6({0x2000}, 3, AddressClass::global),
    net6({},
         0),  // all else: loopback, link-local, site-local, multicast, 64:ff9b:1::/48, unassigned
});

bool contains(const Prefix& prefix, const Bytes& address) {
  const std::size_t whole = prefix.bits / 8;
  if (!std::equal(address.begin(), address.begin() + static_cast<std::ptrdiff_t>(whole),
                  prefix.bytes.begin())) {
    return false;
  }
  const unsigned rest = prefix.bits % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
  return (address[whole] & mask) == (prefix.bytes[whole] & mask);
}

AddressClass look_up(const Bytes& address) {
  for (const Prefix& prefix : kTable) {
    if (contains(prefix, address)) return prefix.means;
  }
  return AddressClass::forbidden;
}

// A translator in the network turns these into the IPv4 address inside. Only a global one is ever
// right: RFC 6052 section 3.1 and RFC 3056 section 2 forbid private ones.
constexpr Prefix kNat64 = net6({0x64, 0xff9b}, 96);
constexpr Prefix k6to4 = net6({0x2002}, 16);

AddressClass class_of_embedded(const Bytes& address, std::size_t at) {
  const Bytes inside = mapped({address[at], address[at + 1], address[at + 2], address[at + 3]});
  return look_up(inside) == AddressClass::global ? AddressClass::global : AddressClass::forbidden;
}

}  // namespace

bool IpAddress::is_v4() const { return contains(net4({}, 0), bytes); }

IpAddress IpAddress::v4(std::array<std::uint8_t, 4> b) { return {mapped(b)}; }

std::string IpAddress::str() const {
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (is_v4()) {
    ::inet_ntop(AF_INET, bytes.data() + 12, out.data(), out.size());
  } else {
    ::inet_ntop(AF_INET6, bytes.data(), out.data(), out.size());
  }
  return out.data();
}

AddressClass classify(const IpAddress& address) {
  if (contains(kNat64, address.bytes)) return class_of_embedded(address.bytes, 12);
  if (contains(k6to4, address.bytes)) return class_of_embedded(address.bytes, 2);
  return look_up(address.bytes);
}

bool may_dial(const IpAddress& address, PrivateAddresses policy) {
  switch (classify(address)) {
    case AddressClass::global: return true;
    case AddressClass::private_use: return policy == PrivateAddresses::allowed;
    case AddressClass::forbidden: return false;
  }
  return false;
}

}  // namespace warder
