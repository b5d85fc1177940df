#include "cli/admin_client.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "cli/guard.hpp"
#include "cli/state.hpp"
#include "http/h1_parser.hpp"

namespace warder {
namespace {

[[noreturn]] void gone() { throw RunRefused("the gateway has gone: nothing was done", 125); }

}  // namespace

Fd connect_to_gateway(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof address.sun_path)
    throw ConfigError("--gateway " + path.string() + ": the path is too long for a socket");
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw RunRefused("--gateway " + path.string() + ": " + std::generic_category().message(errno) +
                         "; start one with: warder gateway --config FILE",
                     2);
  }
  return socket;
}

AdminAnswer call_gateway(int socket, std::string_view request) {
  while (!request.empty()) {
    const ssize_t n = ::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
    if (n <= 0) break;  // it may have answered already
    request.remove_prefix(static_cast<std::size_t>(n));
  }
  H1Parser parser(H1Parser::Role::response);
  parser.begin_response("POST");
  AdminAnswer answer;
  for (char byte = 0;;) {
    if (::recv(socket, &byte, 1, 0) != 1) {
      if (answer.status != 0 && parser.eof() == H1Event::end) return answer;
      gone();
    }
    std::string_view in(&byte, 1);
    for (;;) {
      const H1Event event = parser.next(in);
      if (event == H1Event::need_more) break;
      if (event == H1Event::error) gone();
      if (event == H1Event::head) answer.status = parser.response().status;
      if (event == H1Event::body) answer.body += parser.body();
      if (event == H1Event::end || (event == H1Event::head && answer.status == 101)) return answer;
    }
  }
}

AdminAnswer post_to_gateway(const std::filesystem::path& socket, std::string_view path,
                            std::string_view body) {
  const Fd connection = connect_to_gateway(socket);
  const std::string request = "POST " + std::string(path) +
                              " HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
                              "Content-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  return call_gateway(connection.get(), request);
}

std::filesystem::path usual_gateway_directory() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/') return std::filesystem::path(runtime) / "warder";
  return state_directory() / "run";
}

}  // namespace warder
