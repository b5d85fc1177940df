#include "proxy/ingress/proxy_access.hpp"

#include <openssl/crypto.h>

#include <algorithm>

#include "http/chars.hpp"
#include "proxy/ingress/arrive.hpp"
#include "secrets/basic.hpp"

namespace warder {
namespace {

std::string_view bearer(std::string_view value) {
  static constexpr std::string_view kScheme = "Bearer ";
  if (!same_name(value.substr(0, kScheme.size()), kScheme)) return {};
  return trim(value.substr(kScheme.size()));
}

bool present_own_certificate(Connection& connection, const ListenerConfig::Tls& tls) {
  SSL* ssl = connection.stream.ssl();
  LeafCache& leaves = connection.gateway.leaves;
  if (tls.name) {
    const std::shared_ptr<X509> leaf = leaves.leaf(*tls.name);
    return leaf &&
           SandboxTls::present(ssl, leaf.get(), leaves.authority().leaf_key(), HttpVersion::http11);
  }
  // Read each time: whoever renews the files need not tell us.
  return SandboxTls::present_files(ssl, tls.certificate, tls.key);
}

// Is there a rule by which anything at all could pass to this host and port?
Verdict authorize_tunnel(const Session& session, const HostName& host, std::uint16_t port) {
  if (auto raw = session.authorize_raw(host, port)) return std::move(*raw);
  const Scheme likely = port == 80 ? Scheme::http : Scheme::https;
  const Scheme other = port == 80 ? Scheme::https : Scheme::http;
  Verdict verdict = session.authorize_connection({likely, host, port});
  if (verdict.allows()) return verdict;
  Verdict second = session.authorize_connection({other, host, port});
  return second.allows() ? second : verdict;
}

}  // namespace

bool ProxyAccess::takes(std::string_view offered) const {
  if (!token) return true;
  const auto value = token->now();
  if (!value) return false;
  return value->reveal([&](std::string_view right) {
    // Of equal length by construction: a comparison that ends early would tell how long the token is.
    std::string same_size(right.size(), '\0');
    std::copy_n(offered.begin(), std::min(offered.size(), right.size()), same_size.begin());
    const bool equal = CRYPTO_memcmp(same_size.data(), right.data(), right.size()) == 0;
    wipe(same_size);
    return equal && offered.size() == right.size();
  });
}

bool ProxyAccess::takes(std::string_view user, std::string_view password) const {
  return password.empty() ? takes(user) : takes(password);
}

bool ProxyAccess::takes(const HeaderList& fields) const {
  if (!token) return true;
  if (fields.count("proxy-authorization") != 1) return false;
  const std::string_view value = fields.find("proxy-authorization")->value;
  if (const auto basic = find_basic(value)) {
    auto plain = base64_decode(basic->text);
    if (!plain) return false;
    const std::size_t colon = plain->find(':');
    const std::string_view whole(*plain);
    const std::string_view user = whole.substr(0, colon);
    const bool good =
        takes(user, colon == std::string::npos ? std::string_view() : whole.substr(colon + 1));
    wipe(*plain);
    return good;
  }
  const std::string_view offered = bearer(value);
  return !offered.empty() && takes(offered);
}

Task<bool> receive(Connection& connection, const ProxyAccess& access) {
  if (access.token && !connection.meet(access.strangers)) {
    connection.stream.abort();
    co_return false;
  }
  if (!access.tls) co_return true;
  Stream& stream = connection.stream;
  const SteadyDuration limit = connection.gateway.limits.handshake;
  stream.begin_tls(connection.gateway.sandbox_tls.make());
  stream.limit_writes(limit);
  stream.end_reads_at(std::chrono::steady_clock::now() + limit);
  Verdict failed;
  failed.reason = Reason::client_broken;
  auto shaken = co_await stream.handshake();
  if (!shaken && shaken.error() == IoError::hello_pending) {
    if (present_own_certificate(connection, *access.tls))
      shaken = co_await stream.handshake();
    else
      failed.reason = Reason::internal;
  }
  if (shaken && negotiated_version(stream.ssl()) == HttpVersion::http11) co_return true;
  if (!shaken && shaken.error() == IoError::timed_out) failed.reason = Reason::client_timeout;
  connection.session->denials.add(failed.reason, "TLS to the proxy", "");
  (void)co_await record_refused_connection(connection, "tls", failed, "");
  stream.shutdown_write();
  co_return false;
}

Verdict open_tunnel(Connection& connection, const HostName& host, std::uint16_t port) {
  connection.arrival = Arrival();
  connection.arrival.port = port;
  if (!stand_for(connection, host)) return Verdict();
  if (!connection.arrival.bound) {
    Verdict later;
    later.decision = Decision::allow;
    return later;
  }
  return authorize_tunnel(*connection.session, *connection.arrival.bound, port);
}

Task<> serve_tunnel(Connection& connection, TunnelAnswer& asked) {
  connection.stream.put_back(connection.input.view());
  connection.input.keep({});
  co_await serve_arrival(connection, &asked);
}

}  // namespace warder
