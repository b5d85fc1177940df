#include "proxy/tls_sessions.hpp"

#include <openssl/x509.h>

#include <iterator>

namespace warder {
namespace {

// A resumed connection is not verified anew: what it rests on must still be good.
bool may_resume(const SSL_SESSION* session) {
  const X509* leaf = SSL_SESSION_get0_peer(const_cast<SSL_SESSION*>(session));
  return leaf != nullptr && SSL_SESSION_is_resumable(session) == 1 &&
         X509_cmp_time(X509_get0_notAfter(leaf), nullptr) > 0;
}

}  // namespace

void TlsSessions::put(const std::string& key, SslSessionPtr session) {
  const std::scoped_lock lock(mutex_);
  held_.push_front({key, std::move(session)});
  std::size_t alike = 0;
  for (auto it = held_.begin(); it != held_.end();) {
    const bool spare = it->key == key && ++alike > kMostEach;
    it = spare ? held_.erase(it) : std::next(it);
  }
  if (held_.size() > kMost) held_.pop_back();
}

SslSessionPtr TlsSessions::take(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  for (auto it = held_.begin(); it != held_.end();) {
    if (it->key != key) {
      ++it;
      continue;
    }
    if (!may_resume(it->session.get())) {
      it = held_.erase(it);
      continue;
    }
    const bool once = SSL_SESSION_get_protocol_version(it->session.get()) >= TLS1_3_VERSION;
    // A copy: OpenSSL spoils the session of a connection that ends without close_notify.
    if (!once) return SslSessionPtr(SSL_SESSION_dup(it->session.get()));
    SslSessionPtr taken = std::move(it->session);
    held_.erase(it);
    return taken;
  }
  return nullptr;
}

std::size_t TlsSessions::size() const {
  const std::scoped_lock lock(mutex_);
  return held_.size();
}

}  // namespace warder
