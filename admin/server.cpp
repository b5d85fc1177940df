#include "admin/server.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "admin/socket_path.hpp"
#include "http/h1_parser.hpp"
#include "http/h1_writer.hpp"

namespace warder {
namespace {

constexpr std::size_t kMostBody = 4 << 20;
constexpr timeval kPatience{30, 0};  // for a request and for its answer
constexpr int kBacklog = 128;

bool answers(const sockaddr_un& address) {
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

Fd listen_at(const std::filesystem::path& path) {
  const SocketPath at(path);
  const sockaddr_un& address = at.address();
  if (answers(address))
    throw std::runtime_error(path.string() + " belongs to a gateway that is running");
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const bool good =
      listener &&
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::chmod(path.c_str(), 0600) == 0 && ::listen(listener.get(), kBacklog) == 0;
  if (!good) {
    throw std::system_error(errno, std::generic_category(), "cannot listen at " + path.string());
  }
  return listener;
}

// The directory keeps others out; this holds even where somebody opened it.
bool is_ours(int socket, AdminRequest& request) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  request.uid = peer.uid;
  request.pid = peer.pid;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

// One request, head and body. False: there is none, or it is malformed.
bool read_request(int socket, AdminRequest& request) {
  HeadLimits limits;
  H1Parser parser(H1Parser::Role::request, limits);
  parser.begin_request();
  std::array<char, 16 * 1024> buffer{};
  std::string_view in;
  for (;;) {
    switch (parser.next(in)) {
      case H1Event::head: {
        const RequestHead& head = parser.request();
        request.method = head.method;
        request.path = head.target;
        if (const HeaderField* upgrade = head.fields.find("upgrade"))
          request.upgrade = upgrade->value;
        break;
      }
      case H1Event::body:
        request.body += parser.body();
        if (request.body.size() > kMostBody) return false;
        break;
      case H1Event::end: return true;
      case H1Event::error: return false;
      case H1Event::need_more: {
        const ssize_t n = ::recv(socket, buffer.data(), buffer.size(), 0);
        if (n <= 0) return false;
        in = {buffer.data(), static_cast<std::size_t>(n)};
      }
    }
  }
}

void send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string_view phrase_of(int status) {
  switch (status) {
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 503: return "Service Unavailable";
    default: return "Internal Server Error";
  }
}

enum class Body : bool { left_out, written };

// Without its body, as HEAD wants it, the head is what it would have been with it.
std::string written(const AdminReply& reply, const std::string& upgrade, Body body) {
  ResponseHead head;
  head.status = reply.status;
  head.phrase = phrase_of(reply.status);
  if (reply.status == 101) {
    head.fields.add("Connection", "Upgrade");
    head.fields.add("Upgrade", upgrade);
  } else {
    head.fields.add("Content-Type", reply.type);
    head.fields.add("Content-Length", std::to_string(reply.body.size()));
    head.fields.add("Connection", "close");
  }
  std::string out;
  if (!write_head(out, head)) return "HTTP/1.1 500 Internal Server Error\r\n\r\n";
  if (body == Body::written) out += reply.body;
  return out;
}

void set_patience(int socket, timeval time) {
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

AdminReply answer(const AdminServer::Handler& handler, AdminRequest request) {
  try {
    return handler(std::move(request));
  } catch (const std::exception& error) {
    AdminReply reply;
    reply.status = 500;
    reply.body = error.what();
    return reply;
  }
}

}  // namespace

AdminServer::AdminServer(std::filesystem::path path, Handler handler)
    : path_(std::move(path)), handler_(std::move(handler)), listener_(listen_at(path_)) {
  acceptor_ = std::thread([this] { accept_loop(); });
}

AdminServer::~AdminServer() { stop(); }

void AdminServer::stop() {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(stopping_, true)) return;
    for (Client& client : clients_) ::shutdown(client.socket.get(), SHUT_RDWR);
  }
  ::shutdown(listener_.get(), SHUT_RDWR);  // ends accept()
  acceptor_.join();
  for (Client& client : clients_) client.thread.join();
  clients_.clear();
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void AdminServer::reap() {
  std::erase_if(clients_, [](Client& client) {
    if (client.done) client.thread.join();
    return client.done;
  });
}

void AdminServer::accept_loop() {
  for (;;) {
    Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::scoped_lock lock(mutex_);
    if (stopping_) return;
    reap();
    if (!socket) {
      // Typically EMFILE: what is open must close first.
      ::poll(nullptr, 0, 50);
      continue;
    }
    if (clients_.size() >= kMostConnections) continue;
    Client& client = clients_.emplace_back();
    client.socket = std::move(socket);
    try {
      client.thread = std::thread([this, &client] { serve(client); });
    } catch (const std::system_error&) {
      clients_.pop_back();  // no thread to be had: this client hears nothing, the others go on
    }
  }
}

void AdminServer::serve(Client& client) {
  const int socket = client.socket.get();
  set_patience(socket, kPatience);
  AdminRequest request;
  if (is_ours(socket, request) && read_request(socket, request)) {
    const std::string upgrade = request.upgrade;
    const Body body = request.method == "HEAD" ? Body::left_out : Body::written;
    AdminReply reply = answer(handler_, std::move(request));
    send_all(socket, written(reply, upgrade, body));
    if (reply.status == 101 && reply.take_over) {
      set_patience(socket, timeval{});
      reply.take_over(socket);
    }
  }
  ::shutdown(socket, SHUT_RDWR);
  const std::scoped_lock lock(mutex_);
  client.done = true;
}

}  // namespace warder
