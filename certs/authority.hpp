// The per-run certificate authority: its key is made in memory and never touches a disk.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "base/clock.hpp"
#include "http/authority.hpp"

namespace warder {

struct OpensslFree {
  void operator()(X509* p) const { X509_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
};
using X509Ptr = std::unique_ptr<X509, OpensslFree>;
using PkeyPtr = std::unique_ptr<EVP_PKEY, OpensslFree>;

class CertificateAuthority {
 public:
  // P-256, critical CA:TRUE pathlen 0, critical keyCertSign+cRLSign, SKI. Valid from an hour ago for 365 days.
  // Its subject is unlike every other run's. Throws std::runtime_error when OpenSSL fails or `name` is too long.
  explicit CertificateAuthority(const Clock& clock, std::string name = "Warder");

  std::string pem() const;           // the certificate, never the key
  std::string subject_hash() const;  // 8 hex digits: the name of its file in a hashed directory
  X509* certificate() const { return certificate_.get(); }
  const Clock& clock() const { return clock_; }
  // One P-256 key for all leaves of this authority: a leaf costs one signature.
  EVP_PKEY* leaf_key() const { return leaf_key_.get(); }

  // A leaf for one name or address (iPAddress SAN): SAN (critical with an empty subject when the name is over
  // 64 bytes), AKI, SKI, digitalSignature, serverAuth, CA:FALSE, random positive serial; valid from an hour ago, for
  // 7 days and not beyond the CA. nullptr when OpenSSL fails or the CA has expired. Thread-safe.
  X509Ptr mint(const HostName& host) const;

 private:
  const Clock& clock_;
  PkeyPtr key_;
  PkeyPtr leaf_key_;
  X509Ptr certificate_;
};

}  // namespace warder
