#include "policy/host_key.hpp"

#include <span>

#include "policy/address_range.hpp"

namespace warder {
namespace {

std::string key_of(char family, std::span<const std::uint8_t> bytes) {
  std::string key(1, family);
  key.reserve(1 + 8 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    for (int bit = 7; bit >= 0; --bit) key += (byte >> bit & 1) == 1 ? '1' : '0';
  }
  return key;
}

}  // namespace

std::string address_key(const IpAddress& address) {
  return address.is_v4() ? key_of('4', std::span(address.bytes).subspan(12))
                         : key_of('6', address.bytes);
}

std::string host_key(const HostName& host) {
  if (const auto address = address_of(host)) return address_key(*address);
  const std::string& name = host.str();
  std::string key = "n";
  key.reserve(name.size() + 2);
  for (std::size_t end = name.size();;) {
    const std::size_t dot = name.rfind('.', end - 1);
    const std::size_t begin = dot == std::string::npos ? 0 : dot + 1;
    key.append(name, begin, end - begin) += '.';
    if (begin == 0) return key;
    end = dot;
  }
}

}  // namespace warder
