#include "proxy/ingress/arrive.hpp"

#include <arpa/inet.h>

#include "http/chars.hpp"
#include "proxy/raw_relay.hpp"
#include "proxy/sandbox_tls.hpp"

namespace warder {
namespace {

// A method and a space, or the beginning of them. What else speaks first (SSH, whose banner may have a space too,
// Postgres, Redis) would wait for an answer of its own kind for as long as we wait for the rest of a head.
bool may_begin_http(std::string_view first) {
  if (first.starts_with("SSH-")) return false;  // RFC 4253 section 4.2
  while (!first.empty() && (first.front() == '\r' || first.front() == '\n')) first.remove_prefix(1);
  const std::size_t space = first.find(' ');
  return space != 0 && all_in(kTokenChar, first.substr(0, space));
}

// On 80 and 443 the protocol is given; elsewhere the first bytes tell. nullopt: none came in time.
Task<std::optional<Scheme>> protocol_of(Connection& connection, std::uint16_t port) {
  if (port == 80) co_return Scheme::http;
  if (port == 443) co_return Scheme::https;
  connection.stream.limit_reads(connection.gateway.limits.first_bytes);
  std::array<char, 32> first{};
  auto seen = co_await connection.stream.peek(first);
  if (!seen) co_return std::nullopt;
  static constexpr char kHandshakeRecord = 0x16;  // RFC 8446 section 5.1
  if (first[0] == kHandshakeRecord) co_return Scheme::https;
  const std::string_view begin(first.data(), *seen);
  co_return may_begin_http(begin) ? Scheme::http : Scheme::tcp;
}

// Nothing spoke, or neither HTTP nor TLS: that needs a rule of its own kind.
Verdict verdict_on_silence(const Connection& connection) {
  auto authority = authority_of(connection.arrival);
  authority->scheme = Scheme::tcp;
  Verdict verdict = connection.session->authorize_connection(*authority);
  if (verdict.allows()) verdict = Verdict();
  if (verdict.reason == Reason::host_not_allowed) verdict.reason = Reason::port_not_allowed;
  return verdict;
}

}  // namespace

std::string where_to(const Arrival& arrival) {
  const std::string host = arrival.bound     ? arrival.bound->str()
                           : arrival.literal ? arrival.literal->uri_host()
                                             : "nowhere";
  return host + ":" + std::to_string(arrival.port);
}

bool stand_for(Connection& connection, const HostName& host) {
  Arrival& arrival = connection.arrival;
  std::array<std::uint8_t, 4> v4{};
  if (host.kind() == HostName::Kind::ipv4 && ::inet_pton(AF_INET, host.str().c_str(), &v4) == 1 &&
      dns::Zone::covers(v4)) {
    arrival.bound = connection.session->zone.name_for(v4);
    return arrival.bound.has_value();
  }
  (host.is_address() ? arrival.literal : arrival.bound) = host;
  return true;
}

Task<> refuse_silently(Connection& connection, Verdict verdict, std::string where) {
  connection.session->denials.add(verdict.reason, "connection to " + where, verdict.suggestion);
  (void)co_await record_refused_connection(connection, "tcp", verdict, "tcp://" + where);
  connection.stream.abort();
}

Task<> serve_arrival(Connection& connection, TunnelAnswer* asked) {
  Arrival& arrival = connection.arrival;
  connection.count();
  // Before a byte is read: the server may speak first.
  if (auto authority = authority_of(arrival)) {
    auto raw = connection.session->authorize_raw(authority->host, authority->port);
    authority->scheme = Scheme::tcp;
    if (raw) {
      co_await serve_raw(connection, std::move(*authority), std::move(*raw), asked);
      co_return;
    }
  }
  if (asked != nullptr) {
    const bool opened = co_await asked->open();
    if (!opened) co_return;
  }
  const auto scheme = co_await protocol_of(connection, arrival.port);
  if (!scheme || *scheme == Scheme::tcp) {
    Verdict verdict = verdict_on_silence(connection);
    co_await refuse_silently(connection, std::move(verdict), where_to(arrival));
    co_return;
  }
  arrival.scheme = *scheme;
  if (*scheme == Scheme::https && !co_await accept_tls(connection, where_to(arrival))) co_return;
  if (*scheme == Scheme::http && arrival.bound) {
    const Verdict verdict = connection.session->authorize_connection(*authority_of(arrival));
    if (!verdict.allows()) arrival.refused = verdict;
  }
  co_await serve_requests(connection);
}

}  // namespace warder
