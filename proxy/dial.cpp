#include "proxy/dial.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace warder {
namespace {

// With more addresses to try, a black hole must not eat the whole time (RFC 8305 is for later).
constexpr std::chrono::milliseconds kPatience{2'000};

tcp::endpoint to_endpoint(const IpAddress& address, std::uint16_t port) {
  if (address.is_v4()) {
    asio::ip::address_v4::bytes_type bytes{};
    std::copy_n(address.bytes.begin() + 12, 4, bytes.begin());
    return {asio::ip::address_v4(bytes), port};
  }
  asio::ip::address_v6::bytes_type bytes{};
  std::copy(address.bytes.begin(), address.bytes.end(), bytes.begin());
  return {asio::ip::address_v6(bytes), port};
}

Task<Result<std::unique_ptr<Stream>>> connect(Worker& worker, VettedEndpoint to,
                                              SteadyDuration limit) {
  tcp::socket socket(worker.loop());
  error_code error;
  socket.open(to.endpoint().protocol(), error);
  if (error) co_return error;
  socket.native_non_blocking(true, error);
  const int started = ::connect(socket.native_handle(), to.endpoint().data(),
                                static_cast<socklen_t>(to.endpoint().size()));
  if (started != 0 && errno != EINPROGRESS)
    co_return error_code(errno, boost::system::system_category());
  auto stream = std::make_unique<Stream>(worker, std::move(socket));
  if (started != 0) {
    stream->limit_writes(limit);
    auto ready = co_await stream->wait_to_write(Stream::kWantWrite);
    if (!ready) co_return ready.error();
  }
  int failed = 0;
  socklen_t size = sizeof failed;
  ::getsockopt(stream->socket().native_handle(), SOL_SOCKET, SO_ERROR, &failed, &size);
  if (failed != 0) co_return error_code(failed, boost::system::system_category());
  co_return std::move(stream);
}

struct Candidates {
  std::vector<VettedEndpoint> endpoints;
  std::optional<DialFailure> failure;
};

Task<Candidates> candidates(Gateway& gateway, Authority authority, PrivateAddresses allowed) {
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
  auto addresses = co_await gateway.resolver.resolve(host, gateway.limits.resolve);
  if (!addresses || addresses->empty()) {
    found.failure = DialFailure{Reason::upstream_resolve_failed, "no address for " + host.str()};
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

std::optional<VettedEndpoint> VettedEndpoint::vet(const IpAddress& address, std::uint16_t port,
                                                  PrivateAddresses allowed) {
  if (!may_dial(address, allowed)) return std::nullopt;
  return VettedEndpoint(to_endpoint(address, port));
}

VettedEndpoint VettedEndpoint::from_operator(const IpAddress& address, std::uint16_t port) {
  return VettedEndpoint(to_endpoint(address, port));
}

Task<std::variant<std::unique_ptr<Stream>, DialFailure>> dial(Worker& worker, Gateway& gateway,
                                                              Authority authority,
                                                              PrivateAddresses allowed) {
  Candidates found = co_await candidates(gateway, authority, allowed);
  if (found.failure) co_return *found.failure;
  DialFailure last{Reason::upstream_connect_failed, "no address was tried"};
  for (std::size_t i = 0; i < found.endpoints.size(); ++i) {
    SteadyDuration limit = gateway.upstream.connect_timeout;
    if (i + 1 < found.endpoints.size()) limit = std::min<SteadyDuration>(limit, kPatience);
    auto connected = co_await connect(worker, found.endpoints[i], limit);
    if (connected) co_return std::move(*connected);
    const bool late = connected.error() == IoError::timed_out;
    const auto& endpoint = found.endpoints[i].endpoint();
    last.reason = late ? Reason::upstream_timeout : Reason::upstream_connect_failed;
    last.detail = endpoint.address().to_string() + ":" + std::to_string(endpoint.port()) + ": " +
                  (late ? "no answer in time" : connected.error().message());
  }
  co_return last;
}

}  // namespace warder
