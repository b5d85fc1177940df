// The trust store of a JVM: PKCS #12, every certificate marked as trusted.
#pragma once

#include <span>
#include <string>

namespace warder {

// What Java's KeyStore of type PKCS12 (and, by its detection, JKS) reads as trusted entries, one for each of `certificates`
// (DER). The certificates are in clear text, so that it opens without a password; its integrity check opens with
// "changeit". Throws std::runtime_error when OpenSSL fails.
std::string java_trust_store(std::span<const std::string> certificates);

}  // namespace warder
