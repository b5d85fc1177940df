// The trust that a sandbox sees: the system's bundle with Warder's CA in it, under every usual name.
#pragma once

#include <map>
#include <span>
#include <string>

namespace warder {

// The host's own bundle (/etc/ssl/certs/ca-certificates.crt and the other distributions' places), or "" when
// there is none.
std::string system_bundle();
// Is `path` one of the places where that is looked for, or a link to one?
bool is_system_bundle(const std::string& path);
// The text of the first of `places` that can be read and holds a certificate, or "".
std::string first_bundle(std::span<const std::string> places);

// `system` and `ca`, each certificate once, PEM. Only certificates come out: what does not parse as one is left
// out, comments and keys too. Throws std::invalid_argument when `ca_pem` holds no certificate, for in a bundle
// without the CA every connection would fail.
std::string merged_bundle(const std::string& system, const std::string& ca_pem);

// The well-formed certificates in `pem` as PEM of our own writing, and nothing else of it.
std::string certificates_only(const std::string& pem);

// What a sandbox is to trust, in the forms in which programs want it.
struct TrustTexts {
  std::string bundle;  // PEM: the system's, the caller's, the CA
  std::string
      added;  // PEM, for runtimes with roots of their own: the CA first, then what the system does not have
  std::string java_store;  // PKCS #12: what is in `bundle`
};
// Throws as merged_bundle().
TrustTexts trust_texts(const std::string& system, const std::string& callers,
                       const std::string& ca_pem);

// The value of JAVA_TOOL_OPTIONS with which a JVM reads the trust store at `store`: `options` are the caller's own, and a
// trust store that these name stays.
std::string java_options(const std::string& options, const std::string& store);

// Variables that make runtimes read `bundle` (a path inside the sandbox) and, for those that add to their own
// roots, `ca` (the CA and what else the system does not have).
std::map<std::string, std::string> trust_variables(const std::string& bundle,
                                                   const std::string& ca);

}  // namespace warder
