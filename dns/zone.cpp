#include "dns/zone.hpp"

#include <algorithm>

namespace warder::dns {
namespace {

constexpr std::uint32_t kNetwork = 0xc6120000;  // 198.18.0.0/15, RFC 2544: routed nowhere
constexpr std::uint32_t kNetmask = 0xfffe0000;
constexpr std::uint32_t kFirst = kNetwork + 2;
constexpr std::uint32_t kLast = kNetwork + 0x1fffe;  // below the broadcast address

constexpr std::uint32_t to_number(std::array<std::uint8_t, 4> address) {
  return static_cast<std::uint32_t>(address[0]) << 24 |
         static_cast<std::uint32_t>(address[1]) << 16 |
         static_cast<std::uint32_t>(address[2]) << 8 | address[3];
}

constexpr std::array<std::uint8_t, 4> to_address(std::uint32_t number) {
  return {static_cast<std::uint8_t>(number >> 24), static_cast<std::uint8_t>(number >> 16),
          static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)};
}

}  // namespace

Zone::Zone(std::size_t capacity) : capacity_(std::min<std::size_t>(capacity, kLast - kFirst + 1)) {}

std::optional<std::array<std::uint8_t, 4>> Zone::address_for(const HostName& name) {
  if (name.is_address()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (const auto known = index_.find(name.str()); known != index_.end()) {
    return to_address(kFirst + static_cast<std::uint32_t>(known->second));
  }
  if (names_.size() >= capacity_) return std::nullopt;
  const std::size_t place = names_.size();
  names_.push_back(name);
  index_.emplace(name.str(), place);
  return to_address(kFirst + static_cast<std::uint32_t>(place));
}

std::optional<HostName> Zone::name_for(std::array<std::uint8_t, 4> address) const {
  const std::uint32_t number = to_number(address);
  if (number < kFirst || number > kLast) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const std::size_t place = number - kFirst;
  if (place >= names_.size()) return std::nullopt;
  return names_[place];
}

bool Zone::covers(std::array<std::uint8_t, 4> address) {
  return (to_number(address) & kNetmask) == kNetwork;
}

}  // namespace warder::dns
