// What a policy grants and no record used.
#pragma once

#include <string>
#include <vector>

#include "cli/observations.hpp"
#include "config/config.hpp"

namespace warder {

struct UnusedRule {
  std::string rule;
  std::string where;
  std::vector<std::string> hosts;  // those that it was not used for
  bool is_whole = false;           // not used at all
};
struct UnusedGrant {
  std::string secret;  // or "client_certificate", or a capture's name
  std::string where;
  std::vector<std::string> hosts;
};
struct Unused {
  std::vector<UnusedRule> rules;
  std::vector<UnusedGrant> grants;
  bool empty() const { return rules.empty() && grants.empty(); }
};

// Deny rules grant nothing, and are left out.
Unused unused_of(const PolicyConfig& policy, const Gathered& gathered);
std::string text_of(const Unused& unused);
std::string json_of(const Unused& unused, const PolicyConfig& policy, const Gathered& gathered);

}  // namespace warder
