// Which hosts a rule or grant means: "api.x.com", "*.x.com" (below), "**.x.com" (apex and below),
// an address literal, "10.0.0.0/8" (the addresses in it, and no name). One matcher for rules, denies
// and grants, so that they cannot disagree.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "http/authority.hpp"
#include "policy/address_range.hpp"

namespace warder {

class HostPattern {
 public:
  enum class Kind : std::uint8_t { exact, below, apex_and_below, range };

  // On failure: a sentence that quotes the text and says the correction ("write api.x.com and
  // ports: [443] instead of api.x.com:443").
  static std::variant<HostPattern, std::string> parse(std::string_view text);

  bool matches(const HostName& host) const;
  // Could any host match both? Used by `warder check` and contradictions at load.
  bool overlaps(const HostPattern& other) const;
  std::string str() const;
  Kind kind() const { return kind_; }
  bool is_range() const { return kind_ == Kind::range; }
  // host_key() of what it is about: exactly that host, or those whose keys begin with it.
  std::string key() const;
  friend bool operator==(const HostPattern&, const HostPattern&) = default;

 private:
  HostPattern(Kind kind, HostName host);
  explicit HostPattern(AddressRange range) : kind_(Kind::range), range_(std::move(range)) {}
  Kind kind_;
  std::optional<HostName> host_;      // all kinds but range
  std::optional<IpAddress> address_;  // of host_, if it is one
  std::optional<AddressRange> range_;
};

}  // namespace warder
