#include "proxy/ingress/arrive.hpp"

#include "proxy/sandbox_tls.hpp"

namespace warder {
namespace {

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

// Nothing spoke: what waits for the server to speak first needs a rule of its own kind.
Verdict verdict_on_silence(const Connection& connection) {
  auto authority = authority_of(connection.arrival);
  authority->scheme = Scheme::tcp;
  Verdict verdict = connection.session->policy.authorize_connection(*authority);
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

bool stand_for_address(Connection& connection, const IpAddress& address) {
  if (address.is_v4()) {
    std::array<std::uint8_t, 4> v4{};
    std::copy_n(address.bytes.begin() + 12, 4, v4.begin());
    if (dns::Zone::covers(v4)) {
      connection.arrival.bound = connection.session->zone.name_for(v4);
      return connection.arrival.bound.has_value();
    }
  }
  auto literal = HostName::parse(address.str());
  if (!literal) return false;
  connection.arrival.literal = std::move(*literal);
  return true;
}

Task<> refuse_silently(Connection& connection, Verdict verdict, std::string where) {
  connection.session->denials.add(verdict.reason, "connection to " + where, verdict.suggestion);
  (void)co_await record_refused_connection(connection, "tcp", verdict, "tcp://" + where);
  connection.stream.abort();
}

Task<> serve_arrival(Connection& connection) {
  Arrival& arrival = connection.arrival;
  const auto scheme = co_await protocol_of(connection, arrival.port);
  if (!scheme) {
    Verdict verdict = verdict_on_silence(connection);
    co_await refuse_silently(connection, std::move(verdict), where_to(arrival));
    co_return;
  }
  arrival.scheme = *scheme;
  if (*scheme == Scheme::https && !co_await accept_tls(connection, where_to(arrival))) co_return;
  if (*scheme == Scheme::http && arrival.bound) {
    const Verdict verdict = connection.session->policy.authorize_connection(*authority_of(arrival));
    if (!verdict.allows()) arrival.refused = verdict;
  }
  co_await serve_requests(connection);
}

}  // namespace warder
