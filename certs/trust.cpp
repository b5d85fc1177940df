#include "certs/trust.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/encoding.hpp"
#include "certs/authority.hpp"
#include "certs/java_store.hpp"

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

// Takes one element off the front of `rest`.
std::optional<std::string_view> take(std::string_view& rest, std::uint8_t tag) {
  if (rest.size() < 2 || static_cast<std::uint8_t>(rest[0]) != tag) return std::nullopt;
  std::size_t size = static_cast<std::uint8_t>(rest[1]);
  std::size_t head = 2;
  if (size >= 0x80) {
    const std::size_t bytes = size & 0x7f;
    if (bytes == 0 || bytes > 3 || rest.size() < 2 + bytes) return std::nullopt;
    size = 0;
    for (; head < 2 + bytes; ++head) size = size << 8 | static_cast<std::uint8_t>(rest[head]);
  }
  if (rest.size() - head < size) return std::nullopt;
  const std::string_view content = rest.substr(head, size);
  rest.remove_prefix(head + size);
  return content;
}

// Certificate ::= SEQUENCE { SEQUENCE, SEQUENCE, BIT STRING }, with nothing behind it.
bool has_outline(std::string_view der) {
  constexpr std::uint8_t kSequence = 0x30;
  constexpr std::uint8_t kBitString = 0x03;
  const auto content = take(der, kSequence);
  if (!content || !der.empty()) return false;
  std::string_view rest = *content;
  return take(rest, kSequence) && take(rest, kSequence) && take(rest, kBitString) && rest.empty();
}

bool is_certificate(std::string_view der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const auto* const end = at + der.size();
  const X509Ptr parsed(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
  ERR_clear_error();
  return parsed && at == end;
}

// OpenSSL takes 0.1 ms for each certificate, and the system has 150: what the system's administrator has put together, and
// every program on it reads, is only looked at from outside.
enum class Check : std::uint8_t { outline, whole };

// Calls `each` with the DER of each certificate in `pem`, in order, until it says false.
template <class Each>
void walk_certificates(std::string_view pem, Check check, const Each& each) {
  while (true) {
    const std::size_t begin = pem.find(kBegin);
    if (begin == std::string_view::npos) return;
    pem.remove_prefix(begin + kBegin.size());
    const std::size_t end = pem.find(kEnd);
    if (end == std::string_view::npos) return;
    std::string text(pem.substr(0, end));
    // A block whose end is missing runs into the next one: what follows the inner begin is still good.
    if (const std::size_t inner = text.rfind(kBegin); inner != std::string::npos) {
      text.erase(0, inner + kBegin.size());
    }
    std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; });
    std::optional<std::string> der = base64_decode(text);
    const bool good = der && has_outline(*der) && (check == Check::outline || is_certificate(*der));
    if (good && !each(std::move(*der))) return;
    pem.remove_prefix(end + kEnd.size());
  }
}

std::vector<std::string> certificates_in(std::string_view pem, Check check) {
  std::vector<std::string> found;
  walk_certificates(pem, check, [&](std::string der) {
    found.push_back(std::move(der));
    return true;
  });
  return found;
}

bool holds_a_certificate(std::string_view pem) {
  bool found = false;
  walk_certificates(pem, Check::whole, [&](const std::string&) { return !(found = true); });
  return found;
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
  std::string text;
  std::array<char, 64 * 1024> piece{};
  while (file.read(piece.data(), piece.size()), file.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > kLargestBundle) return {};
  }
  return text;
}

// Debian, Ubuntu, Alpine, Arch, Gentoo; Fedora, RHEL 7 and newer; RHEL 6, Amazon Linux; SUSE; OpenELEC; the BSDs' place.
const std::array<std::string, 6>& places() {
  static const std::array<std::string, 6> kPlaces = {
      "/etc/ssl/certs/ca-certificates.crt",
      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
      "/etc/pki/tls/certs/ca-bundle.crt",
      "/etc/ssl/ca-bundle.pem",
      "/etc/pki/tls/cacert.pem",
      "/etc/ssl/cert.pem",
  };
  return kPlaces;
}

// Of certificates (DER), each once and in order.
class Collected {
 public:
  // Was it new?
  bool add(const std::string& der) {
    const bool is_new = seen_.insert(sha256(der)).second;
    if (is_new) ders_.push_back(der);
    return is_new;
  }
  const std::vector<std::string>& ders() const { return ders_; }
  std::string pem() const {
    std::string out;
    for (const std::string& der : ders_) out += to_pem(der);
    return out;
  }

 private:
  std::set<Digest> seen_;
  std::vector<std::string> ders_;
};

}  // namespace

std::string first_bundle(std::span<const std::string> places) {
  for (const std::string& place : places) {
    std::string text = read_bounded(place);
    if (holds_a_certificate(text)) return text;
  }
  return "";
}

std::string system_bundle() { return first_bundle(places()); }

bool is_system_bundle(const std::string& path) {
  return std::any_of(places().begin(), places().end(), [&](const std::string& place) {
    std::error_code ignored;
    return path == place || std::filesystem::equivalent(path, place, ignored);
  });
}

std::string certificates_only(const std::string& pem) {
  std::string out;
  for (const std::string& der : certificates_in(pem, Check::whole)) out += to_pem(der);
  return out;
}

TrustTexts trust_texts(const std::string& system, const std::string& callers,
                       const std::string& ca_pem) {
  const std::vector<std::string> ours = certificates_in(ca_pem, Check::whole);
  if (ours.empty()) throw std::invalid_argument("the CA is not a PEM certificate");
  Collected all;
  Collected added;
  for (const std::string& der : ours) added.add(der);
  for (const std::string& der : certificates_in(system, Check::outline)) all.add(der);
  for (const std::string& der : certificates_in(callers, Check::whole)) {
    if (all.add(der)) added.add(der);
  }
  for (const std::string& der : ours) all.add(der);
  return {all.pem(), added.pem(), java_trust_store(all.ders())};
}

std::string merged_bundle(const std::string& system, const std::string& ca_pem) {
  return trust_texts(system, "", ca_pem).bundle;
}

std::string java_options(const std::string& options, const std::string& store) {
  constexpr std::string_view kProperty = "-Djavax.net.ssl.trustStore";
  if (options.find(std::string(kProperty) + '=') != std::string::npos) return options;
  // No type and no password: those would stay in force beside a trust store that the command line names.
  const std::string ours = std::string(kProperty) + '=' + store;
  return options.empty() ? ours : ours + ' ' + options;
}

// uv, Go, Ruby, PHP, .NET, Julia and Deno's "system" store follow SSL_CERT_FILE; conda, Poetry and Azure's CLI
// REQUESTS_CA_BUNDLE. SSL_CERT_DIR is left alone: the hashed directory of the system has the CA in it.
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
      {"PERL_LWP_SSL_CA_FILE", bundle},                // Perl's LWP: goes before SSL_CERT_FILE
      {"HEX_CACERTS_PATH", bundle},                    // Elixir's hex
      {"AWS_CA_BUNDLE", bundle},                       // AWS CLI and SDKs
      {"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", bundle},  // gcloud
      {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", bundle},    // gRPC's C core
      // Adds to its roots by its documentation; the whole bundle is right should that change.
      {"CODEX_CA_CERTIFICATE", bundle},  // Codex: goes before SSL_CERT_FILE
      // These add to the runtime's own roots, so what is not public is enough and quicker to load.
      {"NODE_EXTRA_CA_CERTS", ca},  // Node, Bun, Electron
      {"DENO_CERT", ca},            // Deno
  };
}

}  // namespace warder
