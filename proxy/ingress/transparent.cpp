#include "proxy/ingress/transparent.hpp"

#include <arpa/inet.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <netinet/in.h>

#include <cstring>
#include <optional>

#include "proxy/dns_server.hpp"
#include "proxy/sandbox_tls.hpp"

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

// The name that the address stands for, or the address itself. False: a synthetic address nobody was given.
bool identify(Connection& connection, const Destination& to) {
  if (to.address.is_v4()) {
    std::array<std::uint8_t, 4> v4{};
    std::copy_n(to.address.bytes.begin() + 12, 4, v4.begin());
    if (dns::Zone::covers(v4)) {
      connection.arrival.bound = connection.session->zone.name_for(v4);
      return connection.arrival.bound.has_value();
    }
  }
  auto literal = HostName::parse(to.address.str());
  if (!literal) return false;
  connection.arrival.literal = std::move(*literal);
  return true;
}

Task<> refuse_silently(Connection& connection, const Verdict& verdict, std::string where) {
  connection.session->denials.add(verdict.reason, "connection to " + where, verdict.suggestion);
  (void)co_await record_refused_connection(connection, "tcp", verdict, "tcp://" + where);
  connection.stream.abort();
}

// On 80 and 443 the protocol is given; elsewhere the first byte tells. nullopt: none came in time.
Task<std::optional<Scheme>> protocol_of(Connection& connection, std::uint16_t port) {
  if (port == 80) co_return Scheme::http;
  if (port == 443) co_return Scheme::https;
  connection.stream.limit_reads(connection.gateway.limits.first_bytes);
  char first = 0;
  const std::span<char> one(&first, 1);
  auto seen = co_await connection.stream.peek(one);
  if (!seen) co_return std::nullopt;
  static constexpr char kHandshakeRecord = 0x16;  // RFC 8446 section 5.1
  co_return first == kHandshakeRecord ? Scheme::https : Scheme::http;
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
  const bool known = identify(connection, *to);
  const std::string where =
      (connection.arrival.bound ? connection.arrival.bound->str() : to->address.str()) + ":" +
      std::to_string(to->port);
  const auto scheme = co_await protocol_of(connection, to->port);
  if (!known || !scheme) {
    Verdict verdict;
    if (known) {
      // Nothing spoke: what waits for the server to speak first needs a rule of its own kind.
      auto authority = authority_of(connection.arrival);
      authority->scheme = Scheme::tcp;
      verdict = connection.session->policy.authorize_connection(*authority);
      if (verdict.allows()) verdict = Verdict();
      if (verdict.reason == Reason::host_not_allowed) verdict.reason = Reason::port_not_allowed;
    }
    co_await refuse_silently(connection, verdict, where);
    co_return;
  }
  connection.arrival.scheme = *scheme;
  if (*scheme == Scheme::https && !co_await accept_tls(connection, where)) co_return;
  if (*scheme == Scheme::http && connection.arrival.bound) {
    const Verdict verdict =
        connection.session->policy.authorize_connection(*authority_of(connection.arrival));
    if (!verdict.allows()) connection.arrival.refused = verdict;
  }
  co_await serve_requests(connection);
}

}  // namespace warder
