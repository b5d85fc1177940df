// Below which names anybody can register one of their own: "com", "co.uk", "github.io" (the Public
// Suffix List, with its private part, as the library has it).
#pragma once

#include <string>

#include "http/authority.hpp"

namespace warder {

// Is it on the list? A top-level name that the list does not have ("internal", "test") is not: nobody
// sells names below it. Never an address.
bool is_public_suffix(const HostName& host);
// The public suffix and one label: "example.co.uk" of "api.example.co.uk". Of a top-level name that
// the list does not have: that, and one label. Empty: the host is a public suffix itself, or an
// address.
std::string registrable_domain(const HostName& host);

}  // namespace warder
