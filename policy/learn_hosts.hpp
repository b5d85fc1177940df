// Which hosts belong to one owner, so that a wildcard over them stays with that owner.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "http/authority.hpp"
#include "policy/host_pattern.hpp"

namespace warder {

// The registrable domain by the Public Suffix List ("example.co.uk"). nullopt: an address, a public
// suffix itself, a suffix that the list does not have or that is private (github.io), or a domain
// below which strangers are given names (amazonaws.com).
std::optional<std::string> owners_domain(const HostName& host);

struct HostGroup {
  std::optional<HostPattern> wildcard;  // none: one host, exactly
  std::vector<HostName> hosts;
};
// "*.x.com" for 4 or more different hosts below it, the narrowest such domain first, never above the
// registrable one. Deterministic.
std::vector<HostGroup> group_hosts(std::vector<HostName> hosts);

}  // namespace warder
