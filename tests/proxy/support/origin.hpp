// A scripted origin on loopback: each connection runs the script on a thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "certs/authority.hpp"
#include "tests/proxy/support/wire.hpp"

namespace warder::test {

struct TlsContextFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsContext = std::unique_ptr<SSL_CTX, TlsContextFree>;

inline TlsContext tls_server(X509* leaf, EVP_PKEY* key) {
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  if (SSL_CTX_use_certificate(context.get(), leaf) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key) != 1) {
    throw std::runtime_error("cannot use the origin's certificate");
  }
  return context;
}

class Origin {
 public:
  // `connection` counts from 0. The connection is closed when the script returns.
  using Script = std::function<void(Wire& wire, std::size_t connection)>;

  explicit Origin(Script script, TlsContext tls = nullptr)
      : script_(std::move(script)), tls_(std::move(tls)), listening_(listen_on_loopback()) {
    acceptor_ = std::thread([this] { accept(); });
  }
  ~Origin() { stop(); }
  Origin(const Origin&) = delete;

  std::uint16_t port() const { return listening_.port; }
  std::size_t connections() const {
    const std::scoped_lock lock(mutex_);
    return connections_.size();
  }
  // Ends every connection and waits for the scripts.
  void stop() {
    if (!acceptor_.joinable()) return;
    ::shutdown(listening_.socket.get(), SHUT_RDWR);
    acceptor_.join();
    {
      const std::scoped_lock lock(mutex_);
      for (Connection& connection : connections_) {
        if (connection.wire) connection.wire->interrupt();
      }
    }
    for (Connection& connection : connections_) connection.thread.join();
  }
  // stop(), then the application bytes of each connection.
  std::vector<std::string> received() {
    stop();
    std::vector<std::string> bytes;
    for (const Connection& connection : connections_) bytes.push_back(connection.got);
    return bytes;
  }
  std::string received_in_all() {
    std::string all;
    for (const std::string& bytes : received()) all += bytes;
    return all;
  }
  std::size_t handshakes() const { return handshakes_; }

 private:
  struct Connection {
    std::unique_ptr<Wire> wire;  // under the mutex, as soon as the script runs
    std::string got;
    std::thread thread;
  };

  void accept() {
    for (;;) {
      Fd socket(::accept4(listening_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) return;
      const std::scoped_lock lock(mutex_);
      const std::size_t number = connections_.size();
      Connection& connection = connections_.emplace_back();
      connection.wire = std::make_unique<Wire>(std::move(socket));
      connection.thread = std::thread([this, &connection, number] { run(connection, number); });
    }
  }

  void run(Connection& connection, std::size_t number) {
    Wire* wire = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      wire = connection.wire.get();
    }
    bool ready = true;
    if (tls_) {
      SSL* ssl = SSL_new(tls_.get());
      SSL_set_accept_state(ssl);
      ready = wire->handshake(ssl);
      if (ready) ++handshakes_;
    }
    if (ready) script_(*wire, number);
    const std::scoped_lock lock(mutex_);
    connection.got = wire->got();
    connection.wire.reset();
  }

  Script script_;
  TlsContext tls_;
  Listening listening_;
  mutable std::mutex mutex_;
  std::list<Connection> connections_;
  std::atomic<std::size_t> handshakes_{0};
  std::thread acceptor_;
};

// Answers every request of a connection with the same bytes.
inline Origin::Script answers(std::string response) {
  return [response = std::move(response)](Wire& wire, std::size_t) {
    for (;;) {
      const Message request = wire.read_message();
      if (!request.whole || !wire.send(response)) return;
    }
  };
}

inline std::string ok(std::string_view body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

}  // namespace warder::test
