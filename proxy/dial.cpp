#include "proxy/dial.hpp"

namespace warder {
namespace {

struct Candidates {
  std::vector<VettedEndpoint> endpoints;
  std::optional<DialFailure> failure;
};

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
