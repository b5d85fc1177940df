#include "policy/address_range.hpp"

#include <arpa/inet.h>

#include <algorithm>

#include "http/chars.hpp"
#include "policy/host_key.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

constexpr unsigned kV4Begins = 96;

IpAddress masked(IpAddress address, unsigned bits) {
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned kept = std::clamp(bits, 8 * i, 8 * i + 8) - 8 * i;
    address.bytes[i] &= static_cast<std::uint8_t>(0xff << (8 - kept));
  }
  return address;
}

struct Parts {
  std::string_view address;
  std::string_view bits;
};

Parts take_apart(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return {text, {}};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

}  // namespace

std::optional<IpAddress> address_of(const HostName& host) {
  IpAddress address;
  switch (host.kind()) {
    case HostName::Kind::name: return std::nullopt;
    case HostName::Kind::ipv4: {
      std::array<std::uint8_t, 4> v4{};
      if (::inet_pton(AF_INET, host.str().c_str(), v4.data()) != 1) return std::nullopt;
      return IpAddress::v4(v4);
    }
    case HostName::Kind::ipv6:
      if (::inet_pton(AF_INET6, host.str().c_str(), address.bytes.data()) != 1) return std::nullopt;
      return address;
  }
  return std::nullopt;
}

bool AddressRange::is_meant(std::string_view text) {
  const Parts parts = take_apart(text);
  if (parts.bits.empty() || !std::all_of(parts.bits.begin(), parts.bits.end(), is_digit))
    return false;
  const Result<HostName> host = HostName::parse(parts.address);
  return host.has_value() && host->is_address();
}

std::variant<AddressRange, std::string> AddressRange::parse(std::string_view text) {
  const std::string entry = in_quotes(text);
  const Parts parts = take_apart(text);
  const Result<HostName> host = HostName::parse(parts.address);
  const std::optional<IpAddress> address = host ? address_of(*host) : std::nullopt;
  if (!address) return entry + " is no address range: write one such as 10.0.0.0/8";
  const bool v4 = host->kind() == HostName::Kind::ipv4;
  const unsigned most = v4 ? 32 : 128;
  unsigned bits = parts.bits.size() <= 3 ? 0 : most + 1;
  if (bits == 0) {
    for (const char c : parts.bits) bits = bits * 10 + static_cast<unsigned>(c - '0');
  }
  if (bits > most || std::to_string(bits) != parts.bits) {
    return entry + " has no prefix length from 0 to " + std::to_string(most) + ": write " +
           host->str() + '/' + std::to_string(std::min(bits, most));
  }
  const unsigned whole = v4 ? kV4Begins + bits : bits;
  const AddressRange range(masked(*address, whole), whole);
  if (range.network_ != *address) {
    return entry + " has bits set behind its prefix: write " + range.str() +
           ", or the one address as " + host->str();
  }
  if (range.str() != text) return entry + " is spelled in an unusual way: write " + range.str();
  return range;
}

bool AddressRange::contains(const IpAddress& address) const {
  return is_v4() == address.is_v4() && masked(address, bits_) == network_;
}

bool AddressRange::contains(const AddressRange& other) const {
  return is_v4() == other.is_v4() && bits_ <= other.bits_ &&
         masked(other.network_, bits_) == network_;
}

std::string AddressRange::str() const {
  return network_.str() + '/' + std::to_string(is_v4() ? bits_ - kV4Begins : bits_);
}

std::string AddressRange::key() const {
  return address_key(network_).substr(0, 1 + (is_v4() ? bits_ - kV4Begins : bits_));
}

}  // namespace warder
