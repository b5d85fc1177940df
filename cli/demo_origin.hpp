// The demo's origin: a small HTTPS server on loopback that gives a token away in every way that an origin can.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "certs/authority.hpp"

namespace warder {

// One request as it arrived, and what was written in answer.
struct OriginRequest {
  std::string path;
  std::string token;                // what "Authorization: Bearer" gave
  std::string head;                 // the whole head, lines ended by "\n"
  std::vector<std::string> writes;  // one entry for each write of the answer's body
};

// Blocking sockets, one thread for each connection; it serves kMaxConnections in its life and no more.
class DemoOrigin {
 public:
  static constexpr std::size_t kMaxConnections = 64;
  static constexpr std::size_t kMaxHead = 16 * 1024;
  static constexpr std::size_t kMaxRequests = 256;  // in all
  // Where /stream cuts the token in two.
  static constexpr std::size_t kCut = 20;

  // Listens on a free port; no thread is started. Throws std::runtime_error.
  DemoOrigin(const CertificateAuthority& authority, const HostName& name);
  ~DemoOrigin();
  DemoOrigin(const DemoOrigin&) = delete;
  DemoOrigin& operator=(const DemoOrigin&) = delete;

  std::string address() const;  // "127.0.0.1:40123"
  void start();
  void stop();  // ends every connection and joins every thread
  std::vector<OriginRequest> requests() const;

 private:
  struct Connection {
    Fd socket;
    std::thread thread;
  };
  struct SslFree {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };

  void accept_connections();
  void serve(int socket);
  bool answer(SSL* ssl, OriginRequest& request) const;
  bool remember(OriginRequest request);

  std::unique_ptr<SSL_CTX, SslFree> context_;
  Fd listener_;
  std::uint16_t port_ = 0;
  std::thread acceptor_;
  mutable std::mutex mutex_;  // guards what follows
  bool stopping_ = false;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<OriginRequest> requests_;
};

}  // namespace warder
