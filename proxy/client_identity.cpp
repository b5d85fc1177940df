#include "proxy/client_identity.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>

#include "base/encoding.hpp"

namespace warder {
namespace {

struct BioFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct X509Free {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct KeyFree {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct ChainFree {
  void operator()(STACK_OF(X509) * chain) const { sk_X509_pop_free(chain, X509_free); }
};
using Certificate = std::unique_ptr<X509, X509Free>;

std::unique_ptr<BIO, BioFree> opened(const std::filesystem::path& file) {
  std::unique_ptr<BIO, BioFree> bio(BIO_new_file(file.c_str(), "r"));
  if (!bio) throw std::runtime_error(file.string() + " cannot be read");
  return bio;
}

// Without this OpenSSL would ask the terminal.
int no_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

}  // namespace

struct ClientIdentity::Parts {
  Certificate leaf;
  std::unique_ptr<STACK_OF(X509), ChainFree> chain{sk_X509_new_null()};
  std::unique_ptr<EVP_PKEY, KeyFree> key;
};

ClientIdentity::ClientIdentity(const std::filesystem::path& certificate,
                               const std::filesystem::path& key)
    : parts_(std::make_unique<Parts>()) {
  bool asked = false;
  const auto certificates = opened(certificate);
  while (Certificate next{PEM_read_bio_X509(certificates.get(), nullptr, nullptr, nullptr)}) {
    if (!parts_->leaf)
      parts_->leaf = std::move(next);
    else if (sk_X509_push(parts_->chain.get(), next.get()) > 0)
      (void)next.release();
  }
  const auto keys = opened(key);
  parts_->key.reset(PEM_read_bio_PrivateKey(keys.get(), nullptr, no_passphrase, &asked));
  ERR_clear_error();
  if (!parts_->leaf) throw std::runtime_error(certificate.string() + " holds no PEM certificate");
  if (asked)
    throw std::runtime_error(key.string() + " is encrypted: write the key without a passphrase");
  if (!parts_->key) throw std::runtime_error(key.string() + " holds no PEM private key");
  if (X509_check_private_key(parts_->leaf.get(), parts_->key.get()) != 1) {
    ERR_clear_error();
    throw std::runtime_error(key.string() + " is not the key of " + certificate.string());
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  X509_digest(parts_->leaf.get(), EVP_sha256(), digest.data(), &size);
  fingerprint_ = hex_encode(std::span(digest.data(), size));
}

ClientIdentity::~ClientIdentity() = default;

bool ClientIdentity::show_on(SSL* ssl) const {
  return SSL_use_certificate(ssl, parts_->leaf.get()) == 1 &&
         SSL_use_PrivateKey(ssl, parts_->key.get()) == 1 &&
         SSL_set1_chain(ssl, parts_->chain.get()) == 1;
}

ClientCertificates::ClientCertificates(const std::vector<CertificateGrant>& grants) {
  for (const CertificateGrant& grant : grants) {
    try {
      auto identity = std::make_shared<const ClientIdentity>(grant.certificate, grant.key);
      held_.push_back({grant.hosts, std::move(identity)});
    } catch (const std::runtime_error& error) {
      throw ConfigError(grant.where + ": client_certificate: " + error.what());
    }
  }
}

std::shared_ptr<const ClientIdentity> ClientCertificates::find(const HostName& host) const {
  for (const Held& held : held_) {
    const bool fits =
        std::any_of(held.hosts.begin(), held.hosts.end(),
                    [&](const HostPattern& pattern) { return pattern.matches(host); });
    if (fits) return held.identity;
  }
  return nullptr;
}

}  // namespace warder
