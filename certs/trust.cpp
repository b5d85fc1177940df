#include "certs/trust.hpp"

#include <openssl/pem.h>
#include <openssl/sha.h>

#include <array>
#include <fstream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/encoding.hpp"
#include "certs/authority.hpp"

namespace warder {
namespace {

constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
constexpr std::size_t kLargestBundle = 16U << 20;  // a real one has 200 KiB

using Digest = std::array<std::uint8_t, SHA256_DIGEST_LENGTH>;

Digest sha256(std::string_view bytes) {
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

bool is_certificate(std::string_view der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const auto* const end = at + der.size();
  const X509Ptr parsed(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
  return parsed && at == end;
}

// The DER of each well-formed certificate in `pem`, in order.
std::vector<std::string> certificates_in(std::string_view pem) {
  std::vector<std::string> found;
  while (true) {
    const std::size_t begin = pem.find(kBegin);
    if (begin == std::string_view::npos) return found;
    pem.remove_prefix(begin + kBegin.size());
    const std::size_t end = pem.find(kEnd);
    if (end == std::string_view::npos) return found;
    std::string text(pem.substr(0, end));
    // A block whose end is missing runs into the next one: what follows the inner begin is still good.
    if (const std::size_t inner = text.rfind(kBegin); inner != std::string::npos) {
      text.erase(0, inner + kBegin.size());
    }
    std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; });
    const std::optional<std::string> der = base64_decode(text);
    if (der && is_certificate(*der)) found.push_back(*der);
    pem.remove_prefix(end + kEnd.size());
  }
}

std::string to_pem(std::string_view der) {
  constexpr std::size_t kLine = 64;
  const std::string text = base64_encode(der);
  std::string out = std::string(kBegin) + '\n';
  for (std::size_t at = 0; at < text.size(); at += kLine) out += text.substr(at, kLine) + '\n';
  return out + std::string(kEnd) + '\n';
}

std::string read_bounded(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kLargestBundle + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text.size() > kLargestBundle ? std::string() : text;
}

}  // namespace

std::string first_bundle(std::span<const std::string> places) {
  for (const std::string& place : places) {
    std::string text = read_bounded(place);
    if (!certificates_in(text).empty()) return text;
  }
  return "";
}

std::string system_bundle() {
  static const std::array<std::string, 6> kPlaces = {
      "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Alpine, Arch, Gentoo
      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL 7 and newer
      "/etc/pki/tls/certs/ca-bundle.crt",                   // RHEL 6, Amazon Linux
      "/etc/ssl/ca-bundle.pem",                             // SUSE
      "/etc/pki/tls/cacert.pem",                            // OpenELEC
      "/etc/ssl/cert.pem",                                  // Alpine, the BSDs' place
  };
  return first_bundle(kPlaces);
}

std::string merged_bundle(const std::string& system, const std::string& ca_pem) {
  std::vector<std::string> all = certificates_in(system);
  std::vector<std::string> ours = certificates_in(ca_pem);
  if (ours.empty()) throw std::invalid_argument("the CA is not a PEM certificate");
  all.insert(all.end(), ours.begin(), ours.end());
  std::set<Digest> seen;
  std::string merged;
  for (const std::string& der : all) {
    if (seen.insert(sha256(der)).second) merged += to_pem(der);
  }
  return merged;
}

// SSL_CERT_DIR (a hashed directory), the JVM's PKCS12 store and NSS databases need files of their own.
// uv, Go, Ruby, Perl, PHP and Deno's "system" store follow SSL_CERT_FILE.
std::map<std::string, std::string> trust_variables(const std::string& bundle,
                                                   const std::string& ca) {
  return {
      // These replace the tool's own roots, so they get all of them.
      {"SSL_CERT_FILE", bundle},  // OpenSSL, Go, rustls-native-certs: instead of the default file
      {"NIX_SSL_CERT_FILE", bundle},   // Nix and nixpkgs' OpenSSL: goes before SSL_CERT_FILE
      {"CURL_CA_BUNDLE", bundle},      // curl; Python requests where the next one is not set
      {"REQUESTS_CA_BUNDLE", bundle},  // Python requests: instead of certifi
      {"PIP_CERT", bundle},            // pip
      {"HTTPLIB2_CA_CERTS", bundle},   // Python httplib2 (Google's clients)
      {"GIT_SSL_CAINFO", bundle},      // git: http.sslCAInfo
      {"CARGO_HTTP_CAINFO", bundle},   // cargo: http.cainfo
      {"npm_config_cafile", bundle},   // npm, pnpm, yarn 1: for the registry
      {"NPM_CONFIG_CAFILE",
       bundle},  // the same, as images often have it in capitals: it must not win
      {"YARN_HTTPS_CA_FILE_PATH", bundle},             // yarn 2 and newer: httpsCaFilePath
      {"BUNDLE_SSL_CA_CERT", bundle},                  // Bundler
      {"HEX_CACERTS_PATH", bundle},                    // Elixir's hex
      {"AWS_CA_BUNDLE", bundle},                       // AWS CLI and SDKs
      {"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", bundle},  // gcloud
      {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", bundle},    // gRPC's C core
      // Adds to its roots by its documentation; the whole bundle is right should that change.
      {"CODEX_CA_CERTIFICATE", bundle},  // Codex: goes before SSL_CERT_FILE
      // These add to the runtime's own roots, so the CA alone is enough and quicker to load.
      {"NODE_EXTRA_CA_CERTS", ca},  // Node, Bun, Electron
      {"DENO_CERT", ca},            // Deno
  };
}

}  // namespace warder
