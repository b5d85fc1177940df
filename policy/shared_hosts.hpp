// Hosts where everybody can put an origin, or a file, of their own: object stores, CDNs, hosting. A
// secret that may be sent to any of them can be read by whoever rents the next one.
#pragma once

#include <string>

#include "policy/host_pattern.hpp"

namespace warder {

// The entry of the list that a host of the pattern could be of, such as "*.cloudfront.net"; empty:
// none. docs/policy.md has the list.
std::string shared_hosting(const HostPattern& pattern);

}  // namespace warder
