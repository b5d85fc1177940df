// Blocks of addresses: "10.0.0.0/8", "2001:db8::/32".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "http/authority.hpp"
#include "policy/address_guard.hpp"

namespace warder {

// The address that a literal means; nullopt: it is a name. "::ffff:10.0.0.1" is 10.0.0.1, because
// that is what would be dialled.
std::optional<IpAddress> address_of(const HostName& host);

class AddressRange {
 public:
  // Is it meant as one, well written or not: an address, a slash and digits?
  static bool is_meant(std::string_view text);
  // On failure: a sentence that quotes the text and says the correction.
  static std::variant<AddressRange, std::string> parse(std::string_view text);

  // IPv4 addresses are in no IPv6 block, however they are spelled.
  bool contains(const IpAddress& address) const;
  bool contains(const AddressRange& other) const;
  std::string str() const;
  // The bits that every address in it begins with, as '0' and '1' after '4' or '6' (host_key.hpp).
  std::string key() const;
  friend bool operator==(const AddressRange&, const AddressRange&) = default;

 private:
  AddressRange(IpAddress network, unsigned bits) : network_(network), bits_(bits) {}
  bool is_v4() const { return network_.is_v4(); }

  IpAddress network_;
  unsigned bits_;  // of the 16 bytes
};

}  // namespace warder
