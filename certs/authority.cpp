#include "certs/authority.hpp"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstdio>
#include <stdexcept>

#include "base/encoding.hpp"

namespace warder {
namespace {

using std::chrono::system_clock;

constexpr auto kBackdate = std::chrono::hours(1);  // for sandboxes whose clock is a little behind
// A gateway may run for long; its key is gone with it, whatever the certificate says.
constexpr auto kAuthorityLifetime = std::chrono::days(365);
// Well under the 47 days that browsers will accept from 2029 on; the cache renews, so short costs nothing.
constexpr auto kLeafLifetime = std::chrono::days(7);
constexpr std::size_t kLongestCommonName = 64;  // ub-common-name, RFC 5280 appendix A

struct Free {
  void operator()(BIGNUM* p) const { BN_free(p); }
  void operator()(X509_NAME* p) const { X509_NAME_free(p); }
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(GENERAL_NAME* p) const { GENERAL_NAME_free(p); }
  void operator()(GENERAL_NAMES* p) const { GENERAL_NAMES_free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

[[noreturn]] void fail(const char* what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  ERR_clear_error();
  throw std::runtime_error(std::string(what) + ": " + text.data());
}

PkeyPtr make_p256_key() {
  PkeyPtr key(EVP_EC_gen("P-256"));
  if (!key) fail("cannot make a P-256 key");
  return key;
}

// 159 random bits with the highest one set: positive, and exactly the 20 bytes that RFC 5280 allows.
bool set_random_serial(X509* certificate) {
  const Owned<BIGNUM> serial(BN_new());
  return serial && BN_rand(serial.get(), 159, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_time(ASN1_TIME* field, system_clock::time_point at) {
  return ASN1_TIME_set(field, system_clock::to_time_t(at)) != nullptr;
}

bool add_to_name(X509_NAME* name, const char* field, std::string_view value) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), /*loc=*/-1, /*set=*/0) == 1;
}

// `value` in the language of x509v3_config(5).
bool add_extension(X509* certificate, const X509V3_CTX& context, int nid, const char* value) {
  X509V3_CTX own = context;
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &own, nid, value);
  const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

// An iPAddress for an address, else a dNSName: clients refuse an address that is written as a name.
Owned<GENERAL_NAME> general_name(const HostName& host) {
  Owned<GENERAL_NAME> name(GENERAL_NAME_new());
  if (!name) return nullptr;
  if (host.is_address()) {
    ASN1_OCTET_STRING* bytes = a2i_IPADDRESS(host.str().c_str());
    if (bytes == nullptr) return nullptr;
    GENERAL_NAME_set0_value(name.get(), GEN_IPADD, bytes);
    return name;
  }
  ASN1_IA5STRING* text = ASN1_IA5STRING_new();
  if (text == nullptr) return nullptr;
  GENERAL_NAME_set0_value(name.get(), GEN_DNS, text);
  if (ASN1_STRING_set(text, host.str().data(), static_cast<int>(host.str().size())) != 1) {
    return nullptr;
  }
  return name;
}

// RFC 5280 section 4.2.1.6: with an empty subject the alternative name is critical.
bool set_subject(X509* certificate, const HostName& host) {
  const bool fits = host.str().size() <= kLongestCommonName;
  if (fits && !add_to_name(X509_get_subject_name(certificate), "CN", host.str())) return false;
  const Owned<GENERAL_NAMES> names(GENERAL_NAMES_new());
  Owned<GENERAL_NAME> name = general_name(host);
  if (!names || !name || sk_GENERAL_NAME_push(names.get(), name.get()) <= 0) return false;
  static_cast<void>(name.release());  // now the list's
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), fits ? 0 : 1, 0) == 1;
}

bool set_leaf_times(X509* leaf, const X509* authority, system_clock::time_point now) {
  const system_clock::time_point end = now + kLeafLifetime;
  const ASN1_TIME* last = X509_get0_notAfter(authority);
  if (!set_time(X509_getm_notBefore(leaf), now - kBackdate)) return false;
  if (ASN1_TIME_cmp_time_t(last, system_clock::to_time_t(end)) < 0) {
    return X509_set1_notAfter(leaf, last) == 1;
  }
  return set_time(X509_getm_notAfter(leaf), end);
}

bool add_leaf_extensions(X509* leaf, X509* authority) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, authority, leaf, nullptr, nullptr, 0);
  return add_extension(leaf, context, NID_basic_constraints, "critical,CA:FALSE") &&
         add_extension(leaf, context, NID_key_usage, "critical,digitalSignature") &&
         add_extension(leaf, context, NID_ext_key_usage, "serverAuth") &&
         add_extension(leaf, context, NID_subject_key_identifier, "hash") &&
         add_extension(leaf, context, NID_authority_key_identifier, "keyid:always");
}

// The subject is this run's alone. With a shared one, a client that still trusts an older run's CA would pick
// it by name, find that its key does not match, and report a bad signature.
bool set_authority_name(X509* certificate, const std::string& name) {
  std::array<std::uint8_t, 4> suffix{};
  const Owned<BIGNUM> random(BN_new());
  if (!random || BN_rand(random.get(), 32, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) != 1 ||
      BN_bn2binpad(random.get(), suffix.data(), suffix.size()) < 0) {
    return false;
  }
  X509_NAME* subject = X509_get_subject_name(certificate);
  return add_to_name(subject, "O", name) &&
         add_to_name(subject, "CN", name + " CA " + hex_encode(suffix)) &&
         X509_set_issuer_name(certificate, subject) == 1;
}

bool add_authority_extensions(X509* certificate) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  return add_extension(certificate, context, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
         add_extension(certificate, context, NID_key_usage, "critical,keyCertSign,cRLSign") &&
         add_extension(certificate, context, NID_subject_key_identifier, "hash");
}

}  // namespace

CertificateAuthority::CertificateAuthority(const Clock& clock, std::string name)
    : clock_(clock), key_(make_p256_key()), leaf_key_(make_p256_key()), certificate_(X509_new()) {
  X509* made = certificate_.get();
  const system_clock::time_point start = clock.now() - kBackdate;
  if (made == nullptr || X509_set_version(made, X509_VERSION_3) != 1 || !set_random_serial(made) ||
      !set_time(X509_getm_notBefore(made), start) ||
      !set_time(X509_getm_notAfter(made), start + kAuthorityLifetime) ||
      !set_authority_name(made, name) || X509_set_pubkey(made, key_.get()) != 1 ||
      !add_authority_extensions(made) || X509_sign(made, key_.get(), EVP_sha256()) <= 0 ||
      X509_check_purpose(made, -1, 0) != 1) {
    fail("cannot make the certificate authority");
  }
}

std::string CertificateAuthority::pem() const {
  const Owned<BIO> out(BIO_new(BIO_s_mem()));
  if (!out || PEM_write_bio_X509(out.get(), certificate_.get()) != 1) {
    fail("cannot write the authority's certificate");
  }
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

std::string CertificateAuthority::subject_hash() const {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%08lx", X509_subject_name_hash(certificate_.get()));
  return text.data();
}

X509Ptr CertificateAuthority::mint(const HostName& host) const {
  const system_clock::time_point now = clock_.now();
  X509* authority = certificate_.get();
  if (ASN1_TIME_cmp_time_t(X509_get0_notAfter(authority), system_clock::to_time_t(now)) <= 0) {
    return nullptr;  // a leaf of an expired authority would only be refused later, with a worse reason
  }
  X509Ptr leaf(X509_new());
  X509* made = leaf.get();
  // The last check computes what OpenSSL caches in the object, which threads then share.
  if (made == nullptr || X509_set_version(made, X509_VERSION_3) != 1 || !set_random_serial(made) ||
      X509_set_issuer_name(made, X509_get_subject_name(authority)) != 1 ||
      !set_leaf_times(made, authority, now) || X509_set_pubkey(made, leaf_key_.get()) != 1 ||
      !set_subject(made, host) || !add_leaf_extensions(made, authority) ||
      X509_sign(made, key_.get(), EVP_sha256()) <= 0 || X509_check_purpose(made, -1, 0) != 1) {
    ERR_clear_error();  // this thread's queue is read by the TLS code after us
    return nullptr;
  }
  return leaf;
}

}  // namespace warder
