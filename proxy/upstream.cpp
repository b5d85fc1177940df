#include "proxy/upstream.hpp"

namespace warder {
namespace {

Task<std::optional<DialFailure>> verify(Upstream& made, Gateway& gateway, HttpVersion newest) {
  SSL* ssl = gateway.upstream_tls.make(made.authority.host, newest);
  if (ssl == nullptr) co_return DialFailure{Reason::internal, "cannot make a TLS client"};
  Stream& stream = *made.stream;
  stream.begin_tls(ssl);
  stream.end_reads_at(std::chrono::steady_clock::now() + gateway.upstream.connect_timeout);
  stream.limit_writes(gateway.upstream.connect_timeout);
  auto verified = co_await stream.handshake();
  if (!verified) {
    const bool late = verified.error() == IoError::timed_out;
    DialFailure failure{late ? Reason::upstream_timeout : Reason::upstream_tls_failed,
                        made.facts.address + ": " + UpstreamTls::failure(ssl)};
    co_return std::move(failure);
  }
  made.facts.tls = UpstreamTls::describe(ssl);
  made.facts.leaf = UpstreamTls::leaf_fingerprint(ssl);
  made.version = negotiated_version(ssl);
  co_return std::nullopt;
}

}  // namespace

Task<std::variant<Upstream, DialFailure>> open_upstream(Worker& worker, Gateway& gateway,
                                                        Authority authority,
                                                        PrivateAddresses allowed,
                                                        HttpVersion newest) {
  const SteadyTime began = std::chrono::steady_clock::now();
  auto dialled = co_await dial(worker, gateway, authority, allowed);
  if (auto* failure = std::get_if<DialFailure>(&dialled)) co_return std::move(*failure);
  Upstream made{std::move(authority),
                allowed,
                std::move(std::get<std::unique_ptr<Stream>>(dialled)),
                {},
                HttpVersion::http11};
  error_code ignored;
  const auto peer = made.stream->socket().remote_endpoint(ignored);
  made.facts.address = peer.address().to_string() + ":" + std::to_string(peer.port());
  if (made.authority.scheme == Scheme::https) {
    auto failed = co_await verify(made, gateway, newest);
    if (failed) co_return std::move(*failed);
  }
  made.facts.connect_time = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - began);
  co_return std::move(made);
}

}  // namespace warder
