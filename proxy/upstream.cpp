#include "proxy/upstream.hpp"

namespace warder {
namespace {

Task<std::optional<DialFailure>> verify(Upstream& made, Gateway& gateway, HttpVersion newest,
                                        std::shared_ptr<TlsSessions> sessions, Worker& worker,
                                        const SessionLife& life) {
  const HostName& host = made.key.authority.host;
  SSL* ssl = gateway.upstream_tls.make(host, newest, std::move(sessions), made.key.str());
  if (ssl != nullptr && made.key.identity && !made.key.identity->show_on(ssl)) {
    SSL_free(ssl);
    ssl = nullptr;
  }
  if (ssl == nullptr) co_return DialFailure{Reason::internal, "cannot make a TLS client"};
  Stream& stream = *made.stream;
  stream.begin_tls(ssl);
  stream.end_reads_at(std::chrono::steady_clock::now() + gateway.upstream.connect_timeout);
  stream.limit_writes(gateway.upstream.connect_timeout);
  const EndsWithSession end(worker, &life, stream);
  auto verified = co_await stream.handshake();
  if (!verified) {
    const bool late = verified.error() == IoError::timed_out;
    DialFailure failure{late ? Reason::upstream_timeout : Reason::upstream_tls_failed,
                        made.facts.address + ": " + UpstreamTls::failure(ssl)};
    failure.wants_h2 = newest != HttpVersion::http2 && UpstreamTls::has_no_common_protocol();
    co_return std::move(failure);
  }
  if (!UpstreamTls::proves(ssl, host))
    co_return DialFailure{
        Reason::upstream_tls_failed,
        made.facts.address + ": what was resumed is not proven to be " + host.str()};
  made.facts.tls = UpstreamTls::describe(ssl);
  made.facts.leaf = UpstreamTls::leaf_fingerprint(ssl);
  made.version = negotiated_version(ssl);
  co_return std::nullopt;
}

}  // namespace

std::string OriginKey::str() const {
  const bool allowed = private_addresses == PrivateAddresses::allowed;
  return authority.origin() + (allowed ? " private " : " ") +
         (identity ? identity->fingerprint() : "");
}

Task<std::variant<Upstream, DialFailure>> open_upstream(Worker& worker, Gateway& gateway,
                                                        OriginKey key, HttpVersion newest,
                                                        std::shared_ptr<TlsSessions> sessions,
                                                        const SessionLife& life) {
  const SteadyTime began = std::chrono::steady_clock::now();
  auto dialled = co_await dial(worker, gateway, key.authority, key.private_addresses, life);
  if (auto* failure = std::get_if<DialFailure>(&dialled)) co_return std::move(*failure);
  Upstream made{std::move(key),
                std::move(std::get<std::unique_ptr<Stream>>(dialled)),
                {},
                HttpVersion::http11,
                nullptr};
  error_code ignored;
  const auto peer = made.stream->socket().remote_endpoint(ignored);
  made.facts.address = peer.address().to_string() + ":" + std::to_string(peer.port());
  if (made.key.authority.scheme == Scheme::https) {
    auto failed = co_await verify(made, gateway, newest, std::move(sessions), worker, life);
    if (failed) co_return std::move(*failed);
  }
  made.facts.connect_time = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - began);
  co_return std::move(made);
}

}  // namespace warder
