// The PKCS #12 file as OpenSSL reads it; that a JVM trusts what is in it is shown end to end (test_trust.py).
#include "certs/java_store.hpp"

#include <openssl/pkcs12.h>

#include <vector>

#include "tests/certs/fixtures.hpp"

using namespace warder;
using namespace warder::test;

namespace {

struct Store {
  explicit Store(const std::string& bytes) {
    const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
    file = d2i_PKCS12(nullptr, &at, static_cast<long>(bytes.size()));
    REQUIRE(file != nullptr);
    CHECK(at == reinterpret_cast<const unsigned char*>(bytes.data()) + bytes.size());
  }
  Store(const Store&) = delete;
  ~Store() { PKCS12_free(file); }
  // The certificates with which OpenSSL's own reader comes back; -1: it refuses.
  int certificates(const char* password) const {
    EVP_PKEY* key = nullptr;
    X509* own = nullptr;
    STACK_OF(X509)* others = nullptr;
    const bool parsed = PKCS12_parse(file, password, &key, &own, &others) == 1;
    const int count = parsed ? (others != nullptr ? sk_X509_num(others) : 0) : -1;
    CHECK(key == nullptr);
    CHECK(own == nullptr);
    sk_X509_pop_free(others, X509_free);
    return count;
  }
  PKCS12* file = nullptr;
};

std::string der_of(const CertificateAuthority& authority) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(authority.certificate(), &der);
  std::string bytes(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return bytes;
}

}  // namespace

TEST_CASE("BR-098 a Java trust store holds each certificate, in clear, under a MAC of changeit") {
  const FakeClock clock;
  std::vector<std::string> certificates;
  for (int i = 0; i < 5; ++i) certificates.push_back(der_of(CertificateAuthority(clock)));
  const std::string bytes = java_trust_store(certificates);
  const Store store(bytes);
  CHECK(PKCS12_verify_mac(store.file, "changeit", -1) == 1);
  CHECK(PKCS12_verify_mac(store.file, "wrong", -1) == 0);
  CHECK(store.certificates("changeit") == 5);
  for (const std::string& der : certificates) CHECK(bytes.find(der) != std::string::npos);
  // DER: what was read is written again as the same bytes.
  unsigned char* again = nullptr;
  const int size = i2d_PKCS12(store.file, &again);
  CHECK(std::string(reinterpret_cast<char*>(again), static_cast<std::size_t>(size)) == bytes);
  OPENSSL_free(again);
}

TEST_CASE("a Java trust store of nothing is one, and of many too") {
  CHECK(Store(java_trust_store({})).certificates("changeit") == 0);
  const FakeClock clock;
  const std::string one = der_of(CertificateAuthority(clock));
  const std::vector<std::string> many(400, one);  // lengths of three bytes
  CHECK(Store(java_trust_store(many)).certificates("changeit") == 400);
}

TEST_CASE("attack: a byte changed in a Java trust store is found") {
  const FakeClock clock;
  const std::vector<std::string> certificates{der_of(CertificateAuthority(clock))};
  std::string bytes = java_trust_store(certificates);
  const std::size_t at = bytes.find(certificates.front());
  REQUIRE(at != std::string::npos);
  bytes[at + certificates.front().size() - 1] ^= 1;
  CHECK(PKCS12_verify_mac(Store(bytes).file, "changeit", -1) == 0);
}
