// A blocking peer for tests, plain or TLS, that sends exact bytes and keeps every byte it got. Nothing it waits for
// takes longer than its patience.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "base/fd.hpp"

namespace warder::test {

using std::chrono::milliseconds;

inline void pause(milliseconds time) { std::this_thread::sleep_for(time); }

// How a peer's bytes ended.
enum class Ending : std::uint8_t { open, clean, truncated, reset };

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

struct Listening {
  Fd socket;
  std::uint16_t port = 0;
};

inline Listening listen_on_loopback() {
  Listening made{Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), 0};
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(made.socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(made.socket.get(), 512) != 0 ||
      ::getsockname(made.socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("cannot listen on loopback");
  }
  made.port = ntohs(address.sin_port);
  return made;
}

// One message as it was on the wire, and what its framing says.
struct Message {
  std::string head;  // with the empty line
  std::string body;  // decoded
  std::string trailers;
  bool whole = false;  // no: the peer went away inside of it
  bool chunked = false;

  std::string first_line() const { return head.substr(0, head.find("\r\n")); }
  int status() const { return head.size() > 12 ? std::atoi(head.c_str() + 9) : 0; }
  bool has(std::string_view text) const { return head.find(text) != std::string::npos; }
};

class Wire {
 public:
  explicit Wire(Fd socket) : socket_(std::move(socket)) {
    ::signal(SIGPIPE, SIG_IGN);  // OpenSSL's own socket writes would raise it
    const int one = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    set_patience(milliseconds(10'000));
  }
  ~Wire() { SSL_free(ssl_); }
  Wire(const Wire&) = delete;

  static std::unique_ptr<Wire> connect(std::uint16_t port) {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(port);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("cannot connect to loopback");
    }
    return std::make_unique<Wire>(std::move(socket));
  }

  void set_patience(milliseconds time) {
    const timeval value{time.count() / 1000, (time.count() % 1000) * 1000};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &value, sizeof value);
  }

  // Takes the SSL, whose state is set. False: no handshake; tls_error() says why.
  bool handshake(SSL* ssl) {
    ssl_ = ssl;
    SSL_set_fd(ssl_, socket_.get());
    ERR_clear_error();
    const int returned = SSL_do_handshake(ssl_);
    if (returned != 1) note_tls_error();
    return returned == 1;
  }
  SSL* ssl() const { return ssl_; }
  const std::string& tls_error() const { return tls_error_; }

  // False: the peer does not take it any more.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      ERR_clear_error();
      const ssize_t n = ssl_ != nullptr
                            ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                            : ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  bool send_bytewise(std::string_view bytes, milliseconds between = milliseconds(0)) {
    for (const char& byte : bytes) {
      if (!send({&byte, 1})) return false;
      if (between.count() > 0) pause(between);
    }
    return true;
  }
  // Raw bytes below TLS.
  bool send_raw(std::string_view bytes) {
    return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }

  // Is there something to read, or an end, within `time`?
  bool readable(milliseconds time) {
    if (ssl_ != nullptr && SSL_pending(ssl_) > 0) return true;
    const auto end = std::chrono::steady_clock::now() + time;
    for (;;) {
      pollfd waiting{socket_.get(), POLLIN, 0};
      const auto left =
          std::chrono::duration_cast<milliseconds>(end - std::chrono::steady_clock::now());
      if (::poll(&waiting, 1, static_cast<int>(std::max<long>(left.count(), 0))) <= 0) return false;
      if (ssl_ == nullptr || has_more_than_tickets()) return true;
    }
  }
  // Reads once, or until patience ends. False: nothing came.
  bool read_more() {
    if (ending_ != Ending::open) return false;
    std::array<char, 16384> piece{};
    ERR_clear_error();
    const ssize_t n = ssl_ != nullptr ? SSL_read(ssl_, piece.data(), static_cast<int>(piece.size()))
                                      : ::recv(socket_.get(), piece.data(), piece.size(), 0);
    if (n > 0) {
      got_.append(piece.data(), static_cast<std::size_t>(n));
      return true;
    }
    note_end(static_cast<int>(n));
    return false;
  }
  // Everything until the peer ends. What was taken by read_message() is not in it.
  std::string read_to_end() {
    while (read_more()) {
    }
    return take(got_.size() - taken_);
  }
  Ending ending() const { return ending_; }
  bool timed_out() const { return timed_out_; }
  // Every byte that ever came.
  const std::string& got() const { return got_; }

  enum class Body : std::uint8_t { as_framed, none };
  // The next message; not whole when it did not come.
  Message read_message(Body body = Body::as_framed);
  // The next `size` bytes, or fewer at the end.
  std::string read_exactly(std::size_t size) {
    while (got_.size() - taken_ < size && read_more()) {
    }
    return take(std::min(size, got_.size() - taken_));
  }

  void shut_write() {
    if (ssl_ != nullptr) SSL_shutdown(ssl_);
    ::shutdown(socket_.get(), SHUT_WR);
  }
  // FIN without close_notify.
  void cut() { ::shutdown(socket_.get(), SHUT_WR); }
  void close() { socket_.reset(); }
  void reset() {
    const struct linger now{1, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    socket_.reset();
  }
  // From any thread: ends what waits.
  void interrupt() { ::shutdown(socket_.get(), SHUT_RDWR); }
  void shrink_buffers(int bytes) {
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  }

 private:
  // A TLS session ticket makes the socket readable, and is no answer.
  bool has_more_than_tickets() {
    const int flags = ::fcntl(socket_.get(), F_GETFL);
    ::fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK);
    char byte = 0;
    ERR_clear_error();
    const int n = SSL_peek(ssl_, &byte, 1);
    const bool more = n > 0 || SSL_get_error(ssl_, n) != SSL_ERROR_WANT_READ;
    ::fcntl(socket_.get(), F_SETFL, flags);
    return more;
  }
  std::string take(std::size_t size) {
    std::string piece = got_.substr(taken_, size);
    taken_ += size;
    return piece;
  }
  // Everything up to and with `mark`; empty when it does not come.
  std::string read_through(std::string_view mark) {
    for (;;) {
      const std::size_t at = got_.find(mark, taken_);
      if (at != std::string::npos) return take(at + mark.size() - taken_);
      if (!read_more()) return {};
    }
  }
  void read_chunks(Message& message);

  void note_end(int returned) {
    const int error = errno;
    if (ssl_ == nullptr) {
      if (returned == 0)
        ending_ = Ending::clean;
      else if (error == EAGAIN)
        timed_out_ = true;
      else
        ending_ = Ending::reset;
      return;
    }
    switch (SSL_get_error(ssl_, returned)) {
      case SSL_ERROR_ZERO_RETURN: ending_ = Ending::clean; return;
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE: timed_out_ = true; return;
      default: break;
    }
    const bool eof = ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
    note_tls_error();
    ending_ = eof ? Ending::truncated : Ending::reset;
  }
  void note_tls_error() {
    const char* reason = ERR_reason_error_string(ERR_peek_last_error());
    tls_error_ = reason != nullptr ? reason : "";
  }

  Fd socket_;
  SSL* ssl_ = nullptr;
  std::string got_;
  std::size_t taken_ = 0;
  Ending ending_ = Ending::open;
  bool timed_out_ = false;
  std::string tls_error_;
};

// The value of a field in a head, by its exact name; nullopt when there is none.
inline std::optional<std::string> field(const std::string& head, const std::string& name) {
  const std::size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

inline Message Wire::read_message(Body body) {
  Message message;
  message.head = read_through("\r\n\r\n");
  if (message.head.empty()) return message;
  message.whole = true;
  message.chunked = field(message.head, "Transfer-Encoding") == "chunked";
  if (body == Body::none) return message;
  if (message.chunked) {
    read_chunks(message);
    return message;
  }
  const auto length = field(message.head, "Content-Length");
  if (!length) return message;
  const std::size_t size = std::stoull(*length);
  message.body = read_exactly(size);
  message.whole = message.body.size() == size;
  return message;
}

inline void Wire::read_chunks(Message& message) {
  message.whole = false;
  for (;;) {
    const std::string line = read_through("\r\n");
    if (line.empty()) return;
    const std::size_t size = std::stoull(line, nullptr, 16);
    if (size == 0) break;
    const std::string piece = read_exactly(size + 2);
    if (piece.size() != size + 2) {
      message.body += piece;
      return;
    }
    message.body.append(piece, 0, size);
  }
  for (std::string line = read_through("\r\n"); line != "\r\n"; line = read_through("\r\n")) {
    if (line.empty()) return;
    message.trailers += line;
  }
  message.whole = true;
}

}  // namespace warder::test
