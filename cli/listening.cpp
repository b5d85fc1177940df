#include "cli/listening.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "config/config.hpp"

namespace warder {
namespace {

constexpr int kBacklog = 1024;

socklen_t fill(sockaddr_storage& out, const HostName& address, std::uint16_t port) {
  if (address.kind() == HostName::Kind::ipv4) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(out);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    ::inet_pton(AF_INET, address.str().c_str(), &v4.sin_addr);
    return sizeof v4;
  }
  auto& v6 = reinterpret_cast<sockaddr_in6&>(out);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  ::inet_pton(AF_INET6, address.str().c_str(), &v6.sin6_addr);
  return sizeof v6;
}

}  // namespace

Fd listen_on(const HostName& address, std::uint16_t port, const std::string& where) {
  sockaddr_storage bound{};
  const socklen_t size = fill(bound, address, port);
  Fd socket(::socket(bound.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  // A restart must not wait for the connections of the run before; two gateways on one port stay impossible.
  const bool good =
      socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
      (bound.ss_family != AF_INET6 ||
       ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes) == 0) &&
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&bound), size) == 0 &&
      ::listen(socket.get(), kBacklog) == 0;
  if (good) return socket;
  const std::string why = std::generic_category().message(errno);
  throw ConfigError(where + ": cannot listen on " + address.uri_host() + ":" +
                    std::to_string(port) + ": " + why);
}

}  // namespace warder
