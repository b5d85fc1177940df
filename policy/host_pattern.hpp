// Which hosts a rule or grant means: "api.x.com", "*.x.com" (below), "**.x.com" (apex and below),
// an address literal. One matcher for rules, denies and grants, so that they cannot disagree.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "http/authority.hpp"

namespace warder {

class HostPattern {
 public:
  enum class Kind : std::uint8_t { exact, below, apex_and_below };

  // On failure: a sentence that quotes the text and says the correction ("write api.x.com and
  // ports: [443] instead of api.x.com:443").
  static std::variant<HostPattern, std::string> parse(std::string_view text);

  bool matches(const HostName& host) const;
  // Could any host match both? Used by `warder check` and contradictions at load.
  bool overlaps(const HostPattern& other) const;
  std::string str() const;
  friend bool operator==(const HostPattern&, const HostPattern&) = default;

 private:
  HostPattern(Kind kind, HostName host) : kind_(kind), host_(std::move(host)) {}
  Kind kind_;
  HostName host_;
};

}  // namespace warder
