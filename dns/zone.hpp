// The synthetic addresses of one session: one per name from 198.18.0.0/15, never used for another name in it.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "http/authority.hpp"

namespace warder::dns {

// Thread-safe.
class Zone {
 public:
  // 198.18.0.1 is the sandbox's own interface: the first name gets 198.18.0.2, the last that can be 198.19.255.254.
  explicit Zone(std::size_t capacity = 65536);
  // nullopt when full, and for an address literal, which needs no other address.
  std::optional<std::array<std::uint8_t, 4>> address_for(const HostName& name);
  // nullopt: not ours, or not given out.
  std::optional<HostName> name_for(std::array<std::uint8_t, 4> address) const;
  // Is it within 198.18.0.0/15 (given out or not)?
  static bool covers(std::array<std::uint8_t, 4> address);

 private:
  mutable std::mutex mutex_;
  std::size_t capacity_;
  std::vector<HostName> names_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace warder::dns
