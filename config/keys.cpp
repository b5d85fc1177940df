#include "config/keys.hpp"

namespace warder {

std::vector<const Keys*> all_keys() {
  return {&ask_keys(),         &capture_grant_keys(), &capture_keys(),
          &gateway_keys(),     &audit_keys(),         &upstream_keys(),
          &pool_keys(),        &grant_keys(),         &certificate_grant_keys(),
          &certificate_keys(), &limit_keys(),         &listener_keys(),
          &tls_keys(),         &top_keys(),           &policy_keys(),
          &rule_keys(),        &secret_keys(),        &placeholder_keys(),
          &shape_keys(),       &test_keys(),          &sandbox_keys()};
}

}  // namespace warder
