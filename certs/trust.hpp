// The trust that a sandbox sees: the system's bundle with Warder's CA in it, under every usual name.
#pragma once

#include <map>
#include <span>
#include <string>

namespace warder {

// The host's own bundle (/etc/ssl/certs/ca-certificates.crt and the other distributions' places), or "" when
// there is none.
std::string system_bundle();
// The text of the first of `places` that can be read and holds a certificate, or "".
std::string first_bundle(std::span<const std::string> places);

// `system` and `ca`, each certificate once, PEM. Only certificates come out: what does not parse as one is left
// out, comments and keys too. Throws std::invalid_argument when `ca_pem` holds no certificate, for in a bundle
// without the CA every connection would fail.
std::string merged_bundle(const std::string& system, const std::string& ca_pem);

// Variables that make runtimes read `bundle` (a path inside the sandbox) and, for those that add to their own
// roots, `ca` (the CA alone).
std::map<std::string, std::string> trust_variables(const std::string& bundle,
                                                   const std::string& ca);

}  // namespace warder
