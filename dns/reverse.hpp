// Reverse names: the address that a name below in-addr.arpa or ip6.arpa spells backwards.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace warder::dns {

using ReverseAddress = std::variant<std::array<std::uint8_t, 4>, std::array<std::uint8_t, 16>>;

// "7.0.18.198.in-addr.arpa" is 198.18.0.7 (RFC 1035 section 3.5, RFC 3596 section 2.5), in any case. nullopt: not one
// of these names, or not all of an address: networks and everything that data could hide in.
std::optional<ReverseAddress> reverse_address(std::string_view name);

}  // namespace warder::dns
