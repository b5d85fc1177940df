#include "proxy/ingress/transparent.hpp"

#include <arpa/inet.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <netinet/in.h>

#include <cstring>
#include <optional>

#include "proxy/dns_server.hpp"
#include "proxy/ingress/arrive.hpp"

namespace warder {
namespace {

struct Destination {
  IpAddress address;
  std::uint16_t port = 0;
};

// Where the sandbox meant to go, from conntrack. nullopt: not a redirected connection.
std::optional<Destination> original_destination(int fd) {
  Destination to;
  sockaddr_in v4{};
  socklen_t size = sizeof v4;
  if (::getsockopt(fd, SOL_IP, SO_ORIGINAL_DST, &v4, &size) == 0) {
    std::array<std::uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &v4.sin_addr, bytes.size());
    to.address = IpAddress::v4(bytes);
    to.port = ntohs(v4.sin_port);
    return to;
  }
  sockaddr_in6 v6{};
  size = sizeof v6;
  if (::getsockopt(fd, SOL_IPV6, IP6T_SO_ORIGINAL_DST, &v6, &size) != 0) return std::nullopt;
  std::memcpy(to.address.bytes.data(), &v6.sin6_addr, to.address.bytes.size());
  to.port = ntohs(v6.sin6_port);
  return to;
}

bool is_loopback(const IpAddress& address) {
  if (address.is_v4()) return address.bytes[12] == 127;
  IpAddress one;
  one.bytes[15] = 1;
  return address == one;
}

}  // namespace

Task<> serve_transparent(Worker& worker, Gateway& gateway, std::shared_ptr<Session> session,
                         tcp::socket socket, std::uint16_t listener_port) {
  const auto to = original_destination(socket.native_handle());
  Connection connection(worker, gateway, std::move(session), std::move(socket));
  if (!to || (is_loopback(to->address) && to->port == listener_port)) {
    connection.stream.abort();
    co_return;
  }
  if (to->port == 53) {
    co_await serve_dns_stream(connection.stream, gateway, *connection.session);
    co_return;
  }
  connection.arrival.port = to->port;
  const auto host = HostName::parse(to->address.str());
  if (!host || !stand_for(connection, *host)) {
    Verdict nobody_was_given_it;
    std::string where = to->address.str() + ":" + std::to_string(to->port);
    co_await refuse_silently(connection, std::move(nobody_was_given_it), std::move(where));
    co_return;
  }
  co_await serve_arrival(connection);
}

}  // namespace warder
