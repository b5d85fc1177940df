#include "dns/reverse.hpp"

#include <algorithm>
#include <charconv>

#include "http/chars.hpp"

namespace warder::dns {
namespace {

// What stands before `suffix`, which is in lower case.
std::optional<std::string_view> before(std::string_view name, std::string_view suffix) {
  if (name.size() <= suffix.size()) return std::nullopt;
  const std::string_view end = name.substr(name.size() - suffix.size());
  const auto same = [](char a, char b) { return to_lower(a) == b; };
  if (!std::equal(end.begin(), end.end(), suffix.begin(), same)) return std::nullopt;
  return name.substr(0, name.size() - suffix.size());
}

// The last label of `name`, taken off it with its dot.
std::string_view take_last(std::string_view& name) {
  const std::size_t dot = name.rfind('.');
  const std::string_view label = dot == std::string_view::npos ? name : name.substr(dot + 1);
  name = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
  return label;
}

// Decimal, and written the only way: "7", not "07".
std::optional<std::uint8_t> octet(std::string_view label) {
  std::uint8_t value = 0;
  const char* end = label.data() + label.size();
  const auto [at, error] = std::from_chars(label.data(), end, value);
  if (error != std::errc{} || at != end || (label.size() > 1 && label.front() == '0'))
    return std::nullopt;
  return value;
}

}  // namespace

std::optional<ReverseAddress> reverse_address(std::string_view name) {
  if (auto labels = before(name, ".in-addr.arpa")) {
    std::array<std::uint8_t, 4> address{};
    for (std::uint8_t& byte : address) {
      const auto value = octet(take_last(*labels));
      if (!value) return std::nullopt;
      byte = *value;
    }
    if (!labels->empty()) return std::nullopt;
    return address;
  }
  auto labels = before(name, ".ip6.arpa");
  if (!labels) return std::nullopt;
  std::array<std::uint8_t, 16> address{};
  for (std::uint8_t& byte : address) {
    for (int half = 0; half < 2; ++half) {
      const std::string_view label = take_last(*labels);
      if (label.size() != 1 || hex_value(label.front()) < 0) return std::nullopt;
      byte = static_cast<std::uint8_t>(byte << 4 | hex_value(label.front()));
    }
  }
  if (!labels->empty()) return std::nullopt;
  return address;
}

}  // namespace warder::dns
