#include "proxy/dial.hpp"

#include "base/port_claim.hpp"
#include "policy/host_service.hpp"

namespace warder {
namespace {

struct Candidates {
  std::vector<VettedEndpoint> endpoints;
  std::optional<DialFailure> failure;
};

// Named by a rule of its own, with this port: the loopback of this machine, outside the check of addresses. What
// Warder itself listens on is no service for a sandbox.
Candidates host_service(std::uint16_t port) {
  Candidates found;
  if (is_claimed(port)) {
    found.failure = DialFailure{Reason::address_not_allowed,
                                "Warder itself listens on port " + std::to_string(port)};
    return found;
  }
  IpAddress v6{};
  v6.bytes.back() = 1;
  for (const IpAddress& address : {IpAddress::v4({127, 0, 0, 1}), v6})
    found.endpoints.push_back(VettedEndpoint::from_operator(address, port));
  return found;
}

Task<Candidates> candidates(Worker& worker, Gateway& gateway, Authority authority,
                            PrivateAddresses allowed, const SessionLife& life) {
  Candidates found;
  HostName host = authority.host;
  std::uint16_t port = authority.port;
  const auto mapped = gateway.upstream.connect_to.find(authority.host_port());
  const bool by_operator = mapped != gateway.upstream.connect_to.end();
  if (by_operator) {
    auto target = parse_host_port(mapped->second);
    if (!target || !target->port) {
      found.failure = DialFailure{Reason::internal, "connect_to names no address and port"};
      co_return found;
    }
    host = target->host;
    port = *target->port;
  }
  if (is_host_service(host)) co_return host_service(port);
  auto addresses = co_await gateway.resolver.resolve(worker, host, gateway.limits.resolve, &life);
  if (!addresses) {
    found.failure = DialFailure{Reason::upstream_resolve_failed,
                                host.str() + ": " + addresses.error().message()};
    co_return found;
  }
  for (const IpAddress& address : *addresses) {
    if (by_operator) {
      found.endpoints.push_back(VettedEndpoint::from_operator(address, port));
    } else if (auto vetted = VettedEndpoint::vet(address, port, allowed)) {
      found.endpoints.push_back(*vetted);
    }
  }
  if (found.endpoints.empty()) {
    found.failure = DialFailure{Reason::address_not_allowed,
                                host.str() + " resolves to " + addresses->front().str()};
  }
  co_return found;
}

}  // namespace

Task<Dialled> dial(Worker& worker, Gateway& gateway, Authority authority, PrivateAddresses allowed,
                   const SessionLife& life) {
  Candidates found = co_await candidates(worker, gateway, authority, allowed, life);
  if (life == Life::ended) co_return DialFailure{Reason::session_ended, "the session ends"};
  if (found.failure) co_return std::move(*found.failure);
  std::vector<VettedEndpoint> order = in_dialling_order(found.endpoints);
  auto dialled =
      co_await connect_first(worker, std::move(order), gateway.upstream.connect_timeout, &life);
  if (life == Life::ended) co_return DialFailure{Reason::session_ended, "the session ends"};
  co_return std::move(dialled);
}

}  // namespace warder
