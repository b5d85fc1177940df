// The bundle and the variables by which the programs in a sandbox come to trust the gateway.
#include "certs/trust.hpp"

#include <stdexcept>
#include <vector>

#include "tests/certs/fixtures.hpp"

using namespace warder;
using namespace warder::test;

namespace {

// What a program that reads the bundle gets: OpenSSL's own reader, which stops at the first error.
std::size_t certificates_read(const std::string& bundle) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(
      BIO_new_mem_buf(bundle.data(), static_cast<int>(bundle.size())), &BIO_free);
  std::size_t count = 0;
  while (X509Ptr(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr))) ++count;
  return count;
}

struct Roots {
  FakeClock clock;
  CertificateAuthority a{clock};
  CertificateAuthority b{clock};
  CertificateAuthority ours{clock};
};

}  // namespace

TEST_CASE("the bundle is the system's roots and then the CA") {
  const Roots roots;
  const std::string merged = merged_bundle(roots.a.pem() + roots.b.pem(), roots.ours.pem());
  CHECK(merged == roots.a.pem() + roots.b.pem() + roots.ours.pem());
  CHECK(merged_bundle("", roots.ours.pem()) == roots.ours.pem());
}

TEST_CASE("each certificate is in the bundle once, however it was written") {
  const Roots roots;
  std::string dos;
  for (const char c : roots.a.pem()) dos += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const std::string system =
      "# Label: a\n" + roots.a.pem() + dos + roots.ours.pem() + roots.a.pem();
  const std::string merged = merged_bundle(system, roots.ours.pem());
  CHECK(merged == roots.a.pem() + roots.ours.pem());
}

TEST_CASE("what is not a certificate does not get into the bundle and spoils nothing") {
  const Roots roots;
  const std::string begin = "-----BEGIN CERTIFICATE-----\n";
  const std::string end = "-----END CERTIFICATE-----\n";
  std::string cut = roots.a.pem();
  cut.erase(cut.size() / 2, 4);
  const std::vector<std::string> garbage = {
      "",
      "hello\n",
      begin + end,
      begin + "AAAA\n" + end,
      begin + "not base64!\n" + end,
      begin,                       // runs into the next one
      begin + "AAAA\n",            //
      end,                         //
      cut,                         // a certificate with a hole
      std::string("\0\xff\n", 3),  //
      "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
  };
  for (const std::string& piece : garbage) {
    CAPTURE(piece);
    const std::string merged =
        merged_bundle(piece + roots.a.pem() + piece + roots.b.pem() + piece, roots.ours.pem());
    CHECK(merged == roots.a.pem() + roots.b.pem() + roots.ours.pem());
    CHECK(certificates_read(merged) == 3);
  }
}

TEST_CASE("a certificate with bytes behind it is refused") {
  const Roots roots;
  std::string text = roots.a.pem();
  unsigned char* der = nullptr;
  const int size = i2d_X509(roots.a.certificate(), &der);
  std::string longer(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  longer += std::string(3, '\0');
  std::string coded(longer.size() * 2, '\0');
  const int n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(coded.data()),
                                reinterpret_cast<const unsigned char*>(longer.data()),
                                static_cast<int>(longer.size()));
  coded.resize(static_cast<std::size_t>(n));
  const std::string system =
      "-----BEGIN CERTIFICATE-----\n" + coded + "\n-----END CERTIFICATE-----\n";
  CHECK(merged_bundle(system, roots.ours.pem()) == roots.ours.pem());
}

TEST_CASE("a bundle without the CA is never made") {
  const Roots roots;
  CHECK_THROWS_AS(merged_bundle(roots.a.pem(), ""), std::invalid_argument);
  CHECK_THROWS_AS(merged_bundle(roots.a.pem(), "-----BEGIN CERTIFICATE-----"),
                  std::invalid_argument);
}

TEST_CASE("the first place that holds a certificate is the system's bundle") {
  const Roots roots;
  const TemporaryDirectory directory;
  const std::vector<std::string> places = {directory.path("missing.pem"),
                                           directory.write("empty.pem", ""),
                                           directory.write("garbage.pem", "no certificate here"),
                                           directory.path("."),
                                           directory.write("good.pem", roots.a.pem()),
                                           directory.write("later.pem", roots.b.pem())};
  CHECK(first_bundle(places) == roots.a.pem());
  CHECK(first_bundle(std::span(places).first(4)).empty());
  CHECK(first_bundle({}).empty());
}

TEST_CASE("this machine's own roots survive the merge") {
  const std::string system = system_bundle();
  if (system.empty()) {
    WARN("no bundle on this machine");
    return;
  }
  const Roots roots;
  const std::string merged = merged_bundle(system, roots.ours.pem());
  CHECK(certificates_read(merged) > 1);
  CHECK(certificates_read(merged) <= certificates_read(system) + 1);
  CHECK(merged_bundle(merged, roots.ours.pem()) == merged);
}

TEST_CASE("variables that replace get the bundle, those that add get the CA") {
  const auto variables = trust_variables("/b", "/c");
  for (const char* name :
       {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO",
        "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "npm_config_cafile", "NIX_SSL_CERT_FILE",
        "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "BUNDLE_SSL_CA_CERT", "YARN_HTTPS_CA_FILE_PATH",
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "HEX_CACERTS_PATH", "HTTPLIB2_CA_CERTS"}) {
    CAPTURE(name);
    REQUIRE(variables.contains(name));
    CHECK(variables.at(name) == "/b");
  }
  CHECK(variables.at("NODE_EXTRA_CA_CERTS") == "/c");
  CHECK(variables.at("DENO_CERT") == "/c");
  for (const auto& [name, value] : variables) CHECK((value == "/b" || value == "/c"));
}

TEST_CASE("BR-097 the caller's certificates come into every form, and each once") {
  const Roots roots;
  const std::string system = roots.a.pem();
  const TrustTexts plain = trust_texts(system, "", roots.ours.pem());
  CHECK(plain.bundle == roots.a.pem() + roots.ours.pem());
  CHECK(plain.added == roots.ours.pem());
  const TrustTexts more = trust_texts(
      system, roots.b.pem() + roots.a.pem() + roots.b.pem() + roots.ours.pem(), roots.ours.pem());
  CHECK(more.bundle == roots.a.pem() + roots.b.pem() + roots.ours.pem());
  CHECK(more.added == roots.ours.pem() + roots.b.pem());
  CHECK(more.java_store.size() > plain.java_store.size());
}

TEST_CASE("attack: a private key beside a certificate does not come along") {
  const Roots roots;
  const std::string key =
      "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEG\n-----END PRIVATE KEY-----\n";
  const std::string inside = "-----BEGIN CERTIFICATE-----\n" + key + "-----END CERTIFICATE-----\n";
  for (const std::string& text : {key + roots.b.pem() + key, roots.b.pem() + inside + key}) {
    CHECK(certificates_only(text) == roots.b.pem());
    const TrustTexts texts = trust_texts("", text, roots.ours.pem());
    for (const std::string& each : {texts.bundle, texts.added, texts.java_store}) {
      CHECK(each.find("PRIVATE") == std::string::npos);
      CHECK(each.find("MIGHAgEAMBMGByqGSM49AgEG") == std::string::npos);
    }
  }
  CHECK(certificates_only(key).empty());
}

TEST_CASE("BR-098 the caller's Java options stay, and a trust store that they name") {
  const std::string ours = "-Djavax.net.ssl.trustStore=/s";
  CHECK(java_options("", "/s") == ours);
  CHECK(java_options("-Xmx1g", "/s") == ours + " -Xmx1g");
  for (const char* theirs :
       {"-Djavax.net.ssl.trustStore=/mine",
        "-Xmx1g -Djavax.net.ssl.trustStore=", "'-Djavax.net.ssl.trustStore=/with space' -Da=b"}) {
    CHECK(java_options(theirs, "/s") == theirs);
  }
  const std::string type = "-Djavax.net.ssl.trustStoreType=JKS";
  CHECK(java_options(type, "/s") == ours + " " + type);
}

TEST_CASE("the system's bundle is known by every name that leads to it") {
  CHECK(is_system_bundle("/etc/ssl/certs/ca-certificates.crt"));
  CHECK_FALSE(is_system_bundle("/etc/hostname"));
  CHECK_FALSE(is_system_bundle("/no/such/file"));
  CHECK_FALSE(is_system_bundle(""));
}
