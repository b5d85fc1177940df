#include "admin/client.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <stdexcept>

#include "admin/socket_path.hpp"
#include "http/h1_parser.hpp"

namespace warder {
namespace {

constexpr std::size_t kMostBody = 64 << 20;

[[noreturn]] void no_answer(const std::filesystem::path& socket) {
  throw std::runtime_error(socket.string() + " gave no answer");
}

}  // namespace

bool listens(const std::filesystem::path& path) {
  const SocketPath to(path);
  const sockaddr_un& address = to.address();
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
             0 ||
         (errno != ECONNREFUSED && errno != ENOENT);
}

AdminAnswer ask_admin(const std::filesystem::path& path, const std::string& method,
                      const std::string& target, const std::string& body,
                      std::chrono::seconds patience) {
  const SocketPath to(path);
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval timeout{static_cast<time_t>(patience.count()), 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  const sockaddr_un& address = to.address();
  AdminAnswer answer;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return answer;
  const std::string text =
      method + " " + target +
      " HTTP/1.1\r\nHost: gateway\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
      body;
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t n = ::send(socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n <= 0) break;  // it may have answered already
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  H1Parser parser(H1Parser::Role::response);
  parser.begin_response(method);
  std::array<char, 16 * 1024> buffer{};
  std::string_view in;
  for (;;) {
    const H1Event event = parser.next(in);
    if (event == H1Event::head) answer.status = parser.response().status;
    if (event == H1Event::body) answer.body += parser.body();
    if (event == H1Event::end) return answer;
    if (event == H1Event::error || answer.body.size() > kMostBody) no_answer(path);
    if (event != H1Event::need_more) continue;
    const ssize_t n = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) no_answer(path);
    in = {buffer.data(), static_cast<std::size_t>(n)};
  }
}

}  // namespace warder
