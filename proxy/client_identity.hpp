// Certificates that the gateway itself shows to origins which ask for one, where a grant says so. Their keys never leave
// this process: the sandbox sees a TLS connection as any other.
#pragma once

#include <openssl/ssl.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "http/authority.hpp"

namespace warder {

// One certificate with its chain and key.
class ClientIdentity {
 public:
  // From PEM files. Throws std::runtime_error, one sentence that names the file.
  ClientIdentity(const std::filesystem::path& certificate, const std::filesystem::path& key);
  ~ClientIdentity();
  ClientIdentity(const ClientIdentity&) = delete;

  // For the handshake that `ssl` is about to make. False when OpenSSL fails.
  bool show_on(SSL* ssl) const;
  const std::string& fingerprint() const { return fingerprint_; }  // hex SHA-256

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string fingerprint_;
};

// What a session may show, and where.
class ClientCertificates {
 public:
  ClientCertificates() = default;
  // Throws ConfigError: "file:line: ...".
  explicit ClientCertificates(const std::vector<CertificateGrant>& grants);

  // Of the first grant whose hosts match; nullptr: none.
  std::shared_ptr<const ClientIdentity> find(const HostName& host) const;

 private:
  struct Held {
    std::vector<HostPattern> hosts;
    std::shared_ptr<const ClientIdentity> identity;
  };
  std::vector<Held> held_;
};

}  // namespace warder
