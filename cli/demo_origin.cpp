#include "cli/demo_origin.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "http/message.hpp"

namespace warder {
namespace {

constexpr std::chrono::seconds kPatience{10};     // for a read or a write
constexpr std::chrono::milliseconds kPause{200};  // between the writes of /stream
constexpr std::string_view kBearer = "Bearer ";

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("the demo's origin cannot " + what + ": " +
                           std::generic_category().message(errno));
}

bool write_all(SSL* ssl, std::string_view bytes) {
  return SSL_write(ssl, bytes.data(), static_cast<int>(bytes.size())) ==
         static_cast<int>(bytes.size());
}

// The next head, up to and without its empty line. What follows it stays in `pending`.
std::optional<std::string> read_head(SSL* ssl, std::string& pending) {
  for (;;) {
    if (const std::size_t end = pending.find("\r\n\r\n"); end != std::string::npos) {
      std::string head = pending.substr(0, end + 2);
      pending.erase(0, end + 4);
      return head;
    }
    if (pending.size() > DemoOrigin::kMaxHead) return std::nullopt;
    std::array<char, 4096> piece{};
    const int n = SSL_read(ssl, piece.data(), static_cast<int>(piece.size()));
    if (n <= 0) return std::nullopt;
    pending.append(piece.data(), static_cast<std::size_t>(n));
  }
}

OriginRequest parse(const std::string& head) {
  OriginRequest request;
  for (std::size_t begin = 0; begin < head.size();) {
    const std::size_t end = head.find("\r\n", begin);
    const std::string line = head.substr(begin, end - begin);
    if (begin == 0) {
      const std::size_t path = line.find(' ') + 1;
      request.path = line.substr(path, line.find(' ', path) - path);
    }
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos && same_name(line.substr(0, colon), "authorization")) {
      const std::string value = line.substr(colon + 2);
      if (value.starts_with(kBearer)) request.token = value.substr(kBearer.size());
    }
    request.head += line + "\n";
    begin = end + 2;
  }
  return request;
}

struct Page {
  std::string_view status = "200 OK";
  std::string_view type = "text/plain";
  std::string fields{};  // further header lines
  std::string body{};
};

Page page_for(const OriginRequest& request) {
  if (request.path == "/echo") return {.body = request.head};
  if (request.path == "/whoami") return {.body = "you hold " + request.token + "\n"};
  if (request.path == "/error") {
    return {"400 Bad Request", "text/html", "X-Rejected-Token: " + request.token + "\r\n",
            "<h1>400 Bad Request</h1>\n<p>no such scope for " + request.token + "</p>\n"};
  }
  return {.status = "404 Not Found", .body = "there is nothing here\n"};
}

bool send_page(SSL* ssl, const Page& page) {
  std::string out = "HTTP/1.1 " + std::string(page.status) +
                    "\r\nContent-Type: " + std::string(page.type) +
                    "\r\nContent-Length: " + std::to_string(page.body.size()) + "\r\n" +
                    page.fields + "\r\n" + page.body;
  return write_all(ssl, out);
}

bool send_chunk(SSL* ssl, std::string_view text) {
  std::array<char, 20> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", text.size());
  return write_all(ssl, size.data() + std::string(text) + "\r\n");
}

bool send_stream(SSL* ssl, OriginRequest& request) {
  const std::string& token = request.token;
  request.writes = {"data: good morning\n\n", "data: you hold " + token.substr(0, DemoOrigin::kCut),
                    token.substr(std::min(DemoOrigin::kCut, token.size())) + "\n\n",
                    "data: goodbye\n\n"};
  if (!write_all(ssl,
                 "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n")) {
    return false;
  }
  for (std::size_t i = 0; i < request.writes.size(); ++i) {
    if (i > 0) std::this_thread::sleep_for(kPause);
    if (!send_chunk(ssl, request.writes[i])) return false;
  }
  return write_all(ssl, "0\r\n\r\n");
}

// A peer that has gone must end a thread's connection, not the process.
void block_sigpipe() {
  sigset_t broken;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken, nullptr);
}

}  // namespace

DemoOrigin::DemoOrigin(const CertificateAuthority& authority, const HostName& name)
    : context_(SSL_CTX_new(TLS_server_method())) {
  const X509Ptr leaf = authority.mint(name);
  if (!context_ || !leaf || SSL_CTX_use_certificate(context_.get(), leaf.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context_.get(), authority.leaf_key()) != 1) {
    throw std::runtime_error("the demo's origin cannot make its certificate");
  }
  listener_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  auto* address = reinterpret_cast<sockaddr*>(&here);
  if (!listener_ || ::bind(listener_.get(), address, size) != 0 ||
      ::listen(listener_.get(), 16) != 0 || ::getsockname(listener_.get(), address, &size) != 0) {
    fail("listen on 127.0.0.1");
  }
  port_ = ntohs(here.sin_port);
}

DemoOrigin::~DemoOrigin() { stop(); }

std::string DemoOrigin::address() const { return "127.0.0.1:" + std::to_string(port_); }

void DemoOrigin::start() {
  acceptor_ = std::thread([this] { accept_connections(); });
}

void DemoOrigin::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);
    for (const auto& connection : connections_) ::shutdown(connection->socket.get(), SHUT_RDWR);
  }
  if (acceptor_.joinable()) acceptor_.join();
  for (const auto& connection : connections_) {
    if (connection->thread.joinable()) connection->thread.join();
  }
}

std::vector<OriginRequest> DemoOrigin::requests() const {
  const std::scoped_lock lock(mutex_);
  return requests_;
}

void DemoOrigin::accept_connections() {
  block_sigpipe();
  for (std::size_t i = 0; i < kMaxConnections; ++i) {
    auto connection = std::make_unique<Connection>();
    connection->socket = Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection->socket && errno != ECONNABORTED && errno != EINTR) return;
    if (!connection->socket) continue;
    const timeval limit{kPatience.count(), 0};
    const int socket = connection->socket.get();
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const std::scoped_lock lock(mutex_);
    if (stopping_) return;
    try {
      connection->thread = std::thread([this, socket] { serve(socket); });
    } catch (const std::system_error&) {
      continue;  // no thread to be had: this connection is closed, the check that needed it will say so
    }
    connections_.push_back(std::move(connection));
  }
}

void DemoOrigin::serve(int socket) {
  const std::unique_ptr<SSL, SslFree> ssl(SSL_new(context_.get()));
  if (ssl && SSL_set_fd(ssl.get(), socket) == 1 && SSL_accept(ssl.get()) == 1) {
    std::string pending;
    for (;;) {
      const auto head = read_head(ssl.get(), pending);
      if (!head) break;
      OriginRequest request = parse(*head);
      const bool sent = answer(ssl.get(), request);
      if (!remember(std::move(request)) || !sent) break;
    }
  }
  if (ssl) SSL_shutdown(ssl.get());
  ::shutdown(socket, SHUT_RDWR);
}

bool DemoOrigin::answer(SSL* ssl, OriginRequest& request) const {
  // The demo asks with GET alone; a body would be taken for the next request.
  if (!request.head.starts_with("GET ")) {
    send_page(ssl, {.status = "405 Method Not Allowed", .fields = "Connection: close\r\n"});
    return false;
  }
  if (request.path == "/stream") return send_stream(ssl, request);
  const Page page = page_for(request);
  request.writes = {page.body};
  return send_page(ssl, page);
}

bool DemoOrigin::remember(OriginRequest request) {
  const std::scoped_lock lock(mutex_);
  if (requests_.size() >= kMaxRequests) return false;
  requests_.push_back(std::move(request));
  return true;
}

}  // namespace warder
