// The authority and its leaves, as the strictest clients look at them.
#include "certs/authority.hpp"

#include <openssl/core_names.h>
#include <openssl/ssl.h>

#include <array>
#include <cstdio>
#include <set>

#include "tests/certs/fixtures.hpp"

using namespace warder;
using namespace warder::test;
using namespace std::chrono_literals;

namespace {

enum class Critical : int { no = 0, yes = 1 };

template <class T>
struct Extension {
  Extension(const X509* certificate, int nid, void (*release)(T*)) : value(nullptr, release) {
    int critical = -1;
    value.reset(static_cast<T*>(X509_get_ext_d2i(certificate, nid, &critical, nullptr)));
    REQUIRE(value);
    marked = critical == 1 ? Critical::yes : Critical::no;
  }
  std::unique_ptr<T, void (*)(T*)> value;
  Critical marked{};
};

std::string serial_of(const X509* certificate) {
  const ASN1_INTEGER* serial = X509_get0_serialNumber(certificate);
  REQUIRE((ASN1_STRING_type(serial) & V_ASN1_NEG) == 0);
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(serial)),
          static_cast<std::size_t>(ASN1_STRING_length(serial))};
}

std::string bytes_of(const ASN1_STRING* text) {
  REQUIRE(text != nullptr);
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string group_of(EVP_PKEY* key) {
  std::array<char, 64> name{};
  REQUIRE(EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name.data(), name.size(),
                                         nullptr) == 1);
  return name.data();
}

struct ProgramResult {
  int status;
  std::string output;
};

ProgramResult run_program(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  std::array<char, 512> piece{};
  while (const std::size_t n = std::fread(piece.data(), 1, piece.size(), pipe)) {
    output.append(piece.data(), n);
  }
  return {::pclose(pipe), output};
}

}  // namespace

TEST_CASE("the authority is a P-256 CA that can sign leaves and nothing below") {
  const FakeClock clock;
  const CertificateAuthority authority(clock);
  X509* made = authority.certificate();

  CHECK(X509_get_version(made) == X509_VERSION_3);
  CHECK(group_of(X509_get0_pubkey(made)) == "prime256v1");
  CHECK(X509_verify(made, X509_get0_pubkey(made)) == 1);
  CHECK(X509_check_ca(made) == 1);

  const Extension basic(made, NID_basic_constraints, &BASIC_CONSTRAINTS_free);
  CHECK(basic.marked == Critical::yes);
  CHECK(basic.value->ca != 0);
  CHECK(ASN1_INTEGER_get(basic.value->pathlen) == 0);

  CHECK(X509_get_key_usage(made) == (KU_KEY_CERT_SIGN | KU_CRL_SIGN));
  CHECK(X509_EXTENSION_get_critical(
      X509_get_ext(made, X509_get_ext_by_NID(made, NID_key_usage, -1))));
  CHECK(ASN1_STRING_length(X509_get0_subject_key_id(made)) == 20);
}

TEST_CASE("the authority is valid from an hour ago for a year") {
  const FakeClock clock;
  const CertificateAuthority authority(clock);
  const auto at = [](auto time) { return std::chrono::system_clock::to_time_t(time); };
  X509* made = authority.certificate();
  CHECK(ASN1_TIME_cmp_time_t(X509_get0_notBefore(made), at(clock.time - 1h)) == 0);
  CHECK(ASN1_TIME_cmp_time_t(X509_get0_notAfter(made), at(clock.time - 1h + 365 * 24h)) == 0);
}

TEST_CASE("the authority's text is its certificate and never its key") {
  const FakeClock clock;
  const CertificateAuthority authority(clock);
  CHECK(authority.pem() == to_pem(authority.certificate()));
  CHECK(authority.pem().find("KEY") == std::string::npos);
}

TEST_CASE("two runs share nothing: not the key, not the serial, not the subject") {
  const FakeClock clock;
  const CertificateAuthority one(clock);
  const CertificateAuthority other(clock);
  X509* first = one.certificate();
  X509* second = other.certificate();
  CHECK(EVP_PKEY_eq(X509_get0_pubkey(first), X509_get0_pubkey(second)) == 0);
  CHECK(EVP_PKEY_eq(one.leaf_key(), other.leaf_key()) == 0);
  CHECK(EVP_PKEY_eq(one.leaf_key(), X509_get0_pubkey(first)) == 0);
  CHECK(serial_of(first) != serial_of(second));
  CHECK(one.subject_hash() != other.subject_hash());
  const X509Ptr leaf = one.mint(host("api.test"));
  REQUIRE(leaf);
  CHECK(strict_verdict(leaf.get(), second, clock.time) != X509_V_OK);
}

TEST_CASE("an authority whose name does not fit X.509 is refused at the start") {
  const FakeClock clock;
  CHECK_THROWS_AS(CertificateAuthority(clock, std::string(65, 'n')), std::runtime_error);
  CHECK_THROWS_AS(CertificateAuthority(clock, ""), std::runtime_error);
}

TEST_CASE("leaves of every length verify under X509_STRICT, and only for their own name") {
  const FakeClock clock;
  const CertificateAuthority authority(clock);
  for (const std::size_t size : {6U, 62U, 63U, 64U, 65U, 75U, 130U, 252U, 253U}) {
    CAPTURE(size);
    const std::string name = name_of(size);
    REQUIRE(name.size() == size);
    const X509Ptr leaf = authority.mint(host(name));
    REQUIRE(leaf);
    CHECK(strict_verdict(leaf.get(), authority.certificate(), clock.time) == X509_V_OK);
    CHECK(X509_check_host(leaf.get(), name.data(), name.size(), 0, nullptr) == 1);
    CHECK(X509_check_host(leaf.get(), "other.test", 0, 0, nullptr) == 0);
    CHECK(X509_check_host(leaf.get(), ("a." + name).c_str(), 0, 0, nullptr) == 0);

    const Extension names(leaf.get(), NID_subject_alt_name, &GENERAL_NAMES_free);
    REQUIRE(sk_GENERAL_NAME_num(names.value.get()) == 1);
    const int entries = X509_NAME_entry_count(X509_get_subject_name(leaf.get()));
    CHECK(entries == (size <= 64 ? 1 : 0));
    CHECK(names.marked == (size <= 64 ? Critical::no : Critical::yes));
  }
}

TEST_CASE("an address is an iPAddress and never a dNSName") {
  const FakeClock clock;
  const CertificateAuthority authority(clock);
  const std::pair<std::string, std::string> addresses[] = {
      {"10.77.0.2", std::string("\x0a\x4d\x00\x02", 4)},
      {"fd77::2", std::string("\xfd\x77\0\0\0\0\0\0\0\0\0\0\0\0\0\x02", 16)},
      {"::", std::string(16, '\0')},
      {"255.255.255.255", "\xff\xff\xff\xff"},
  };
  for (const auto& [text, bytes] : addresses) {
    CAPTURE(text);
    const X509Ptr leaf = authority.mint(host(text));
    REQUIRE(leaf);
    CHECK(strict_verdict(leaf.get(), authority.certificate(), clock.time) == X509_V_OK);
    CHECK(X509_check_ip_asc(leaf.get(), text.c_str(), 0) == 1);
    CHECK(X509_check_ip_asc(leaf.get(), "192.0.2.9", 0) == 0);
    const Extension names(leaf.get(), NID_subject_alt_name, &GENERAL_NAMES_free);
    REQUIRE(sk_GENERAL_NAME_num(names.value.get()) == 1);
    int type = -1;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.value.get(), 0), &type);
    CHECK(type == GEN_IPADD);
    CHECK(bytes_of(static_cast<const ASN1_STRING*>(value)) == bytes);
  }
}

TEST_CASE("a leaf says what it is for and who signed it") {
  const FakeClock clock;
  const CertificateAuthority authority(clock);
  const X509Ptr leaf = authority.mint(host("api.test"));
  REQUIRE(leaf);
  CHECK(X509_get_version(leaf.get()) == X509_VERSION_3);
  CHECK(X509_check_ca(leaf.get()) == 0);
  CHECK(X509_get_key_usage(leaf.get()) == KU_DIGITAL_SIGNATURE);
  CHECK(X509_get_extended_key_usage(leaf.get()) == XKU_SSL_SERVER);
  CHECK(bytes_of(X509_get0_authority_key_id(leaf.get())) ==
        bytes_of(X509_get0_subject_key_id(authority.certificate())));
  CHECK(ASN1_STRING_length(X509_get0_subject_key_id(leaf.get())) == 20);
  CHECK(X509_check_private_key(leaf.get(), authority.leaf_key()) == 1);
  CHECK(X509_get_signature_nid(leaf.get()) == NID_ecdsa_with_SHA256);
  const Extension basic(leaf.get(), NID_basic_constraints, &BASIC_CONSTRAINTS_free);
  CHECK(basic.value->ca == 0);
  CHECK(basic.value->pathlen == nullptr);
}

TEST_CASE("a leaf is valid a little before and a week after, never longer than its authority") {
  FakeClock clock;
  const CertificateAuthority authority(clock);
  const auto verdict = [&](X509* leaf, auto when) {
    return strict_verdict(leaf, authority.certificate(), when);
  };
  const X509Ptr early = authority.mint(host("api.test"));
  REQUIRE(early);
  CHECK(verdict(early.get(), clock.time - 59min) == X509_V_OK);
  CHECK(verdict(early.get(), clock.time - 61min) == X509_V_ERR_CERT_NOT_YET_VALID);
  CHECK(verdict(early.get(), clock.time + 167h) == X509_V_OK);
  CHECK(verdict(early.get(), clock.time + 169h) == X509_V_ERR_CERT_HAS_EXPIRED);

  clock.time += 363 * 24h;
  const X509Ptr late = authority.mint(host("api.test"));
  REQUIRE(late);
  CHECK(ASN1_TIME_compare(X509_get0_notAfter(late.get()),
                          X509_get0_notAfter(authority.certificate())) == 0);
  CHECK(verdict(late.get(), clock.time) == X509_V_OK);
}

TEST_CASE("an expired authority mints nothing") {
  FakeClock clock;
  const CertificateAuthority authority(clock);
  clock.time += 365 * 24h - 1h;
  CHECK_FALSE(authority.mint(host("api.test")));
  clock.time -= 1s;
  CHECK(authority.mint(host("api.test")));
}

TEST_CASE("a hundred leaves have a hundred serials, positive and of at most 20 bytes") {
  const FakeClock clock;
  const CertificateAuthority authority(clock);
  std::set<std::string> serials;
  for (int i = 0; i < 100; ++i) {
    const X509Ptr leaf = authority.mint(host("api.test"));
    REQUIRE(leaf);
    const std::string serial = serial_of(leaf.get());
    CHECK(serial.size() <= 20);
    CHECK((static_cast<std::uint8_t>(serial.front()) & 0x80) == 0);
    serials.insert(serial);
  }
  CHECK(serials.size() == 100);
}

TEST_CASE("the openssl program accepts the chain under -x509_strict and knows the hash name") {
  const SystemClock clock;
  const CertificateAuthority authority(clock);
  const TemporaryDirectory directory;
  const std::string ca = directory.write("ca.pem", authority.pem());
  const auto verify = [&](const std::string& name, const std::string& check) {
    const X509Ptr leaf = authority.mint(host(name));
    REQUIRE(leaf);
    const std::string file = directory.write("leaf.pem", to_pem(leaf.get()));
    return run_program("openssl verify -x509_strict -purpose sslserver " + check + " -CAfile " +
                       ca + " " + file);
  };
  for (const std::size_t size : {63U, 64U, 65U, 75U, 253U}) {
    const ProgramResult result = verify(name_of(size), "-verify_hostname " + name_of(size));
    CAPTURE(size, result.output);
    CHECK(result.status == 0);
  }
  CHECK(verify("10.77.0.2", "-verify_ip 10.77.0.2").status == 0);
  CHECK(verify("fd77::2", "-verify_ip fd77::2").status == 0);
  CHECK(verify("api.test", "-verify_hostname evil.test").status != 0);
  CHECK(verify("10.77.0.2", "-verify_ip 10.77.0.3").status != 0);

  const ProgramResult hash = run_program("openssl x509 -noout -hash -in " + ca);
  CHECK(hash.output == authority.subject_hash() + "\n");
}

TEST_CASE("a strict TLS client shakes hands with a minted leaf") {
  const SystemClock clock;
  const CertificateAuthority authority(clock);
  const std::string name = name_of(253);
  const X509Ptr leaf = authority.mint(host(name));
  REQUIRE(leaf);

  using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
  using Session = std::unique_ptr<SSL, decltype(&SSL_free)>;
  const Context server_side(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  const Context client_side(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  REQUIRE(SSL_CTX_use_certificate(server_side.get(), leaf.get()) == 1);
  REQUIRE(SSL_CTX_use_PrivateKey(server_side.get(), authority.leaf_key()) == 1);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(client_side.get()), authority.certificate());
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(client_side.get()), X509_V_FLAG_X509_STRICT);
  SSL_CTX_set_verify(client_side.get(), SSL_VERIFY_PEER, nullptr);

  const auto shake = [&](const std::string& expected) {
    const Session server(SSL_new(server_side.get()), &SSL_free);
    const Session client(SSL_new(client_side.get()), &SSL_free);
    REQUIRE(SSL_set1_host(client.get(), expected.c_str()) == 1);
    BIO* left = nullptr;
    BIO* right = nullptr;
    REQUIRE(BIO_new_bio_pair(&left, 0, &right, 0) == 1);
    SSL_set_bio(server.get(), left, left);
    SSL_set_bio(client.get(), right, right);
    SSL_set_accept_state(server.get());
    SSL_set_connect_state(client.get());
    for (int i = 0; i < 10; ++i) {
      SSL_do_handshake(client.get());
      SSL_do_handshake(server.get());
    }
    return SSL_is_init_finished(client.get()) == 1 && SSL_is_init_finished(server.get()) == 1;
  };
  CHECK(shake(name));
  CHECK_FALSE(shake("evil.test"));
}

TEST_CASE("what a leaf costs", "[.bench]") {
  const SystemClock clock;
  const CertificateAuthority authority(clock);
  constexpr int kLeaves = 2000;
  const HostName name = host("api.example.com");
  const auto start = clock.monotonic();
  for (int i = 0; i < kLeaves; ++i) REQUIRE(authority.mint(name));
  const std::chrono::duration<double, std::milli> each = (clock.monotonic() - start) / kLeaves;
  WARN("one leaf costs " << each.count() << " ms (target: under 0.5)");
  CHECK(each.count() < 0.5);
}
