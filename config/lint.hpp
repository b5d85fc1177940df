// What a configuration that loads says and hardly means: rules that never decide, grants that are
// never used, secrets that may go to strangers, tests that fail.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace warder {

struct Finding {
  enum class Kind : std::uint8_t {
    shadowed_rule,
    unreachable_grant,
    public_suffix,
    shared_host,
    unused_secret,
    failed_test,  // an error; all others are warnings
  };
  Kind kind;
  std::string where;     // file:line
  std::string sentence;  // and what to do about it
  bool is_error() const { return kind == Kind::failed_test; }
  bool operator==(const Finding&) const = default;
};
std::string_view to_string(Finding::Kind kind);

// Of the policy with this name; of all of them: empty. What nothing uses is what no policy uses.
std::vector<Finding> lint(const Config& config, std::string_view policy);

}  // namespace warder
