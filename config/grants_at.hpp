// Which grants of a policy bear upon one request: what `warder explain` tells of secrets.
#pragma once

#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace warder {

// Borrowed from the policy. Of a request that its rules let pass inspected.
struct GrantsAt {
  std::vector<const Grant*> secrets;
  std::vector<const Grant*> only_by_tls;          // name the host, and not clear text
  const CertificateGrant* certificate = nullptr;  // shown if the origin asks for one
  std::vector<const Capture*> captured;           // what they handed out may be used here
  std::vector<const Capture*> returned;           // … and here, to be refreshed or revoked
  const Capture* capture = nullptr;               // the tokens of the answer stay outside
};

GrantsAt grants_at(const PolicyConfig& policy, const Authority& authority, std::string_view path);

}  // namespace warder
