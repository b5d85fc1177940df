#include "proxy/tls.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/encoding.hpp"

namespace warder {
namespace {

// What the ClientHello callback knows of its SSL: kept in the SSL's app data.
enum class HelloState : std::uintptr_t { unseen, waiting, present_h1, present_h2, refuse };

HelloState state_of(SSL* ssl) {
  return static_cast<HelloState>(reinterpret_cast<std::uintptr_t>(SSL_get_app_data(ssl)));
}
void set_state(SSL* ssl, HelloState state) {
  SSL_set_app_data(ssl, reinterpret_cast<void*>(static_cast<std::uintptr_t>(state)));
}

int on_client_hello(SSL* ssl, int* alert, void*) {
  switch (state_of(ssl)) {
    case HelloState::present_h1:
    case HelloState::present_h2: return SSL_CLIENT_HELLO_SUCCESS;
    case HelloState::unseen: set_state(ssl, HelloState::waiting); return SSL_CLIENT_HELLO_RETRY;
    default: *alert = SSL_AD_ACCESS_DENIED; return SSL_CLIENT_HELLO_ERROR;
  }
}

// In wire form, the one that we like best first.
constexpr std::array<unsigned char, 9> kHttp11{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
constexpr std::array<unsigned char, 12> kBoth{2,   'h', '2', 8,   'h', 't',
                                              't', 'p', '/', '1', '.', '1'};
constexpr std::array<unsigned char, 12> kBothOldFirst{8,   'h', 't', 't', 'p', '/',
                                                      '1', '.', '1', 2,   'h', '2'};

int select_alpn(SSL* ssl, const unsigned char** out, unsigned char* out_size,
                const unsigned char* in, unsigned int in_size, void*) {
  unsigned char* chosen = nullptr;
  const auto& ours = state_of(ssl) == HelloState::present_h2 ? kBoth : kBothOldFirst;
  const int found = SSL_select_next_proto(&chosen, out_size, ours.data(), ours.size(), in, in_size);
  if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

[[noreturn]] void fail(const std::string& what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  throw std::runtime_error(what + ": " + text.data());
}

// What a client SSL knows of the session that it belongs to: in its ex data, gone with it.
struct Remembering {
  std::shared_ptr<TlsSessions> in;
  std::string as;
};

void forget(void*, void* held, CRYPTO_EX_DATA*, int, long, void*) {
  const std::unique_ptr<Remembering> gone(static_cast<Remembering*>(held));
}

int remembering_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, forget);
  return index;
}

// A copy is kept, as in take().
int on_new_session(SSL* ssl, SSL_SESSION* session) {
  const auto* where = static_cast<Remembering*>(SSL_get_ex_data(ssl, remembering_index()));
  if (where == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) return 0;
  if (SslSessionPtr copy{SSL_SESSION_dup(session)}) where->in->put(where->as, std::move(copy));
  return 0;
}

constexpr unsigned kNameRules = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;

constexpr long kModes =
    SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS;

}  // namespace

SandboxTls::SandboxTls() : context_(SSL_CTX_new(TLS_server_method())) {
  if (!context_) fail("cannot make a TLS server context");
  SSL_CTX* context = context_.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, kModes);
  SSL_CTX_set_options(
      context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_num_tickets(context, 1);  // each costs some 45 us; clients resume with one
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_client_hello_cb(context, on_client_hello, nullptr);
  SSL_CTX_set_alpn_select_cb(context, select_alpn, nullptr);
  static constexpr std::string_view kContextId = "warder";
  SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(kContextId.data()),
                                 kContextId.size());
}

SSL* SandboxTls::make() const {
  SSL* ssl = SSL_new(context_.get());
  if (ssl != nullptr) SSL_set_accept_state(ssl);
  return ssl;
}

std::optional<std::string> SandboxTls::server_name(SSL* ssl) {
  // server_name (RFC 6066 section 3): list length, type 0, name length, name. OpenSSL has checked the outer frame only.
  const unsigned char* at = nullptr;
  std::size_t size = 0;
  if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &at, &size) != 1) return std::nullopt;
  const auto word = [&](std::size_t i) { return static_cast<std::size_t>(at[i] << 8 | at[i + 1]); };
  if (size < 5 || word(0) != size - 2 || at[2] != TLSEXT_NAMETYPE_host_name) return std::string();
  const std::size_t length = word(3);
  if (length == 0 || length != size - 5) return std::string();
  return std::string(reinterpret_cast<const char*>(at) + 5, length);
}

bool SandboxTls::offers_h2(SSL* ssl) {
  // protocol_name_list (RFC 7301 section 3.1): its length, then each name behind its own.
  const unsigned char* at = nullptr;
  std::size_t size = 0;
  constexpr int kAlpn = TLSEXT_TYPE_application_layer_protocol_negotiation;
  if (SSL_client_hello_get0_ext(ssl, kAlpn, &at, &size) != 1 || size < 2) return false;
  std::string_view names(reinterpret_cast<const char*>(at) + 2, size - 2);
  while (!names.empty()) {
    const auto length = static_cast<std::size_t>(static_cast<unsigned char>(names.front()));
    if (names.substr(1, length) == "h2") return true;
    names.remove_prefix(std::min(names.size(), 1 + length));
  }
  return false;
}

bool SandboxTls::present(SSL* ssl, X509* leaf, EVP_PKEY* key, HttpVersion best) {
  if (SSL_use_certificate(ssl, leaf) != 1 || SSL_use_PrivateKey(ssl, key) != 1) return false;
  set_state(ssl, best == HttpVersion::http2 ? HelloState::present_h2 : HelloState::present_h1);
  return true;
}

bool SandboxTls::present_files(SSL* ssl, const std::filesystem::path& chain,
                               const std::filesystem::path& key) {
  const bool good = SSL_use_certificate_chain_file(ssl, chain.c_str()) == 1 &&
                    SSL_use_PrivateKey_file(ssl, key.c_str(), SSL_FILETYPE_PEM) == 1 &&
                    SSL_check_private_key(ssl) == 1;
  ERR_clear_error();
  if (good) set_state(ssl, HelloState::present_h1);
  return good;
}

void SandboxTls::refuse(SSL* ssl) { set_state(ssl, HelloState::refuse); }

UpstreamTls::UpstreamTls(const std::vector<std::filesystem::path>& extra_roots)
    : context_(SSL_CTX_new(TLS_client_method())) {
  if (!context_) fail("cannot make a TLS client context");
  SSL_CTX* context = context_.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, kModes);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, on_new_session);
  for (const auto& file : extra_roots) {
    if (SSL_CTX_load_verify_file(context, file.c_str()) != 1) {
      fail("gateway.upstream.ca: cannot read certificates from " + file.string());
    }
  }
  ERR_clear_error();
  has_roots_ = std::async(std::launch::async, [context] {
                 const bool good = SSL_CTX_set_default_verify_paths(context) == 1;
                 ERR_clear_error();
                 return good;
               }).share();
}

SSL* UpstreamTls::make(const HostName& host, HttpVersion newest,
                       std::shared_ptr<TlsSessions> sessions, const std::string& key) const {
  if (!has_roots_.get()) return nullptr;
  SSL* ssl = SSL_new(context_.get());
  if (ssl == nullptr) return nullptr;
  const std::span<const unsigned char> offer =
      newest == HttpVersion::http2 ? std::span<const unsigned char>(kBoth) : kHttp11;
  SSL_set_alpn_protos(ssl, offer.data(), static_cast<unsigned>(offer.size()));
  bool named = false;
  if (host.is_address()) {
    named = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.str().c_str()) == 1;
  } else {
    SSL_set_hostflags(ssl, kNameRules);
    named = SSL_set_tlsext_host_name(ssl, host.str().c_str()) == 1 &&
            SSL_set1_host(ssl, host.str().c_str()) == 1;
  }
  if (!named) {
    SSL_free(ssl);
    return nullptr;
  }
  SSL_set_connect_state(ssl);
  if (sessions) {
    if (const SslSessionPtr known = sessions->take(key)) SSL_set_session(ssl, known.get());
    auto remembering = std::make_unique<Remembering>(Remembering{std::move(sessions), key});
    if (SSL_set_ex_data(ssl, remembering_index(), remembering.get()) == 1)
      (void)remembering.release();
  }
  return ssl;
}

bool UpstreamTls::proves(SSL* ssl, const HostName& host) {
  X509* leaf = SSL_get0_peer_certificate(ssl);
  if (leaf == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) return false;
  if (host.is_address()) return X509_check_ip_asc(leaf, host.str().c_str(), 0) == 1;
  return X509_check_host(leaf, host.str().c_str(), 0, kNameRules, nullptr) == 1;
}

HttpVersion negotiated_version(SSL* ssl) {
  const unsigned char* chosen = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl, &chosen, &size);
  return size == 2 && chosen[0] == 'h' && chosen[1] == '2' ? HttpVersion::http2
                                                           : HttpVersion::http11;
}

std::string UpstreamTls::failure(SSL* ssl) {
  const long verdict = SSL_get_verify_result(ssl);
  if (verdict != X509_V_OK) return X509_verify_cert_error_string(verdict);
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason != nullptr ? reason : "the handshake broke off";
}

bool UpstreamTls::has_no_common_protocol() {
  return ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL;
}

std::string UpstreamTls::describe(SSL* ssl) {
  return std::string(SSL_get_version(ssl)) + ' ' + SSL_get_cipher_name(ssl);
}

std::string UpstreamTls::leaf_fingerprint(SSL* ssl) {
  X509* leaf = SSL_get0_peer_certificate(ssl);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (leaf == nullptr || X509_digest(leaf, EVP_sha256(), digest.data(), &size) != 1) return "";
  return hex_encode(std::span(digest.data(), size));
}

}  // namespace warder
