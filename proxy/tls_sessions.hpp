// What one session's TLS connections to origins left for the next ones: a new connection to an authority that is known
// resumes, and spares both sides the certificates. Never shared between two sessions, which would tell an origin that
// they are one.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace warder {

struct SslSessionFree {
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};
using SslSessionPtr = std::unique_ptr<SSL_SESSION, SslSessionFree>;

// Thread-safe. Bounded: beyond either limit the oldest goes.
class TlsSessions {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostEach = 4;  // of one key: servers send two tickets, or a few

  // `key` says all that the connection was verified for.
  void put(const std::string& key, SslSessionPtr session);
  // The newest; nullptr: none. A ticket of TLS 1.3 is gone then: used twice, it would link two connections.
  SslSessionPtr take(const std::string& key);
  std::size_t size() const;

 private:
  struct Held {
    std::string key;
    SslSessionPtr session;
  };
  mutable std::mutex mutex_;
  std::list<Held> held_;  // the newest first
};

}  // namespace warder
