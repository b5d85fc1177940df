// The two TLS contexts: towards sandboxes, where we stand for the origin, and towards origins, which we verify.
#pragma once

#include <openssl/ssl.h>

#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "certs/leaf_cache.hpp"
#include "http/authority.hpp"
#include "proxy/rewrite.hpp"
#include "proxy/tls_sessions.hpp"

namespace warder {

struct SslCtxFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslCtxPtr = std::unique_ptr<SSL_CTX, SslCtxFree>;

// After a handshake: what ALPN settled on; HTTP/1.1 when it was silent.
HttpVersion negotiated_version(SSL* ssl);

// Server side. The handshake stops after the ClientHello (IoError::hello_pending) until present() or refuse().
class SandboxTls {
 public:
  SandboxTls();  // throws std::runtime_error
  // A fresh server SSL for Stream::begin_tls.
  SSL* make() const;

  // While it is pending: the server name of the ClientHello, nullopt when it sent none.
  static std::optional<std::string> server_name(SSL* ssl);
  // While it is pending: does the client offer HTTP/2?
  static bool offers_h2(SSL* ssl);
  // Present `leaf`, and speak `best` if the client offers it, else what it does offer. False when OpenSSL fails.
  static bool present(SSL* ssl, X509* leaf, EVP_PKEY* key, HttpVersion best);
  // The same with a chain and its key from files, for a server that speaks HTTP/1.1 only.
  static bool present_files(SSL* ssl, const std::filesystem::path& chain,
                            const std::filesystem::path& key);
  // Answer with an access_denied alert.
  static void refuse(SSL* ssl);

 private:
  SslCtxPtr context_;
};

// Client side: the system's roots and the configured ones, TLS 1.2 and newer, name checked.
class UpstreamTls {
 public:
  // Throws std::runtime_error. The system's roots are read meanwhile: a start does not wait for them.
  explicit UpstreamTls(const std::vector<std::filesystem::path>& extra_roots);
  // A client SSL that will only finish its handshake with `host`. nullptr when OpenSSL fails. HTTP/1.1 is offered, and
  // `newest`. With `sessions` it resumes what they have for `key`, which must say all that is verified, and leaves there
  // what the origin gives it, as long as it lives.
  SSL* make(const HostName& host, HttpVersion newest = HttpVersion::http11,
            std::shared_ptr<TlsSessions> sessions = nullptr, const std::string& key = {}) const;

  // After a handshake: is the peer proven to be `host`? OpenSSL does not look again where it resumed.
  static bool proves(SSL* ssl, const HostName& host);

  // After a failed handshake: one sentence for the audit record and the error body.
  static std::string failure(SSL* ssl);
  // The same moment: did the origin want another protocol than what ALPN offered (RFC 7301 section 3.2)?
  static bool has_no_common_protocol();
  static std::string describe(SSL* ssl);          // "TLSv1.3 TLS_AES_256_GCM_SHA384"
  static std::string leaf_fingerprint(SSL* ssl);  // hex SHA-256 of the peer's certificate

 private:
  SslCtxPtr context_;
  std::shared_future<bool> has_roots_;  // after context_: its end waits for the reader
};

}  // namespace warder
