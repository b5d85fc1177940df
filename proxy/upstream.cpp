#include "proxy/upstream.hpp"

namespace warder {

Upstream::Upstream(Authority authority, std::unique_ptr<Stream> stream, HeadLimits limits)
    : authority_(std::move(authority)),
      stream_(std::move(stream)),
      parser_(H1Parser::Role::response, limits) {}

Task<std::variant<std::unique_ptr<Upstream>, DialFailure>> Upstream::open(Worker& worker, Gateway& gateway,
                                                                          Authority authority,
                                                                          PrivateAddresses allowed) {
  const SteadyTime began = std::chrono::steady_clock::now();
  auto dialled = co_await dial(worker, gateway, authority, allowed);
  if (auto* failure = std::get_if<DialFailure>(&dialled)) co_return std::move(*failure);
  auto stream = std::move(std::get<std::unique_ptr<Stream>>(dialled));
  auto made = std::make_unique<Upstream>(authority, std::move(stream), gateway.limits.head);
  made->private_addresses_ = allowed;
  error_code ignored;
  const auto peer = made->stream_->socket().remote_endpoint(ignored);
  made->address_ = peer.address().to_string() + ":" + std::to_string(peer.port());
  if (authority.scheme == Scheme::https) {
    SSL* ssl = gateway.upstream_tls.make(authority.host);
    if (ssl == nullptr) co_return DialFailure{Reason::internal, "cannot make a TLS client"};
    made->stream_->begin_tls(ssl);
    made->stream_->end_reads_at(std::chrono::steady_clock::now() + gateway.upstream.connect_timeout);
    made->stream_->limit_writes(gateway.upstream.connect_timeout);
    auto verified = co_await made->stream_->handshake();
    if (!verified) {
      const bool late = verified.error() == IoError::timed_out;
      DialFailure failure{late ? Reason::upstream_timeout : Reason::upstream_tls_failed,
                          made->address_ + ": " + UpstreamTls::failure(ssl)};
      co_return std::move(failure);
    }
    made->tls_ = UpstreamTls::describe(ssl);
    made->leaf_ = UpstreamTls::leaf_fingerprint(ssl);
  }
  made->connect_time_ = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - began);
  co_return std::move(made);
}

bool Upstream::is_stale() {
  return !input_.empty() || !stream_->is_open() || !stream_->is_quiet();
}

}  // namespace warder
