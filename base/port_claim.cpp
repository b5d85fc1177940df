#include "base/port_claim.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

namespace warder {
namespace {

// One port may be listened on more than once, at several addresses.
constexpr int kMostOfOne = 8;

struct Name {
  sockaddr_un address{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Name name_of(std::uint16_t port, int number) {
  const std::string text = "warder-port-" + std::to_string(port) + '.' + std::to_string(number);
  Name name;
  name.address.sun_family = AF_UNIX;
  std::memcpy(name.address.sun_path + 1, text.data(), text.size());  // behind a NUL: abstract
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

Fd datagram_socket() { return Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }

}  // namespace

Fd claim_port(std::uint16_t port) {
  Fd socket = datagram_socket();
  for (int number = 0; socket && number < kMostOfOne; ++number) {
    const Name name = name_of(port, number);
    if (::bind(socket.get(), name.get(), name.size) == 0) return socket;
  }
  return {};
}

Fd claim_port_of(const Fd& listener) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) return {};
  if (bound.ss_family == AF_INET)
    return claim_port(ntohs(reinterpret_cast<const sockaddr_in&>(bound).sin_port));
  if (bound.ss_family == AF_INET6)
    return claim_port(ntohs(reinterpret_cast<const sockaddr_in6&>(bound).sin6_port));
  return {};
}

bool is_claimed(std::uint16_t port) {
  const Fd socket = datagram_socket();
  if (!socket) return true;
  for (int number = 0; number < kMostOfOne; ++number) {
    const Name name = name_of(port, number);
    if (::connect(socket.get(), name.get(), name.size) == 0 || errno != ECONNREFUSED) return true;
  }
  return false;
}

}  // namespace warder
