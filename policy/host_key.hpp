// Hosts as text in which what contains another is a prefix of it: labels from the right, each with
// its dot ("ncom.example.api."), and the bits of an address ("40000101…").
#pragma once

#include <string>

#include "http/authority.hpp"
#include "policy/address_guard.hpp"

namespace warder {

std::string host_key(const HostName& host);
std::string address_key(const IpAddress& address);

}  // namespace warder
