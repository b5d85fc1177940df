#include "proxy/sandbox_tls.hpp"

namespace warder {
namespace {

struct Hello {
  Connection& connection;
  Verdict refusal;      // why we ended it
  bool refused = false;
};

// The verdict on the name that this connection will stand for; `bound` is settled here.
Verdict decide(Connection& connection, const std::optional<std::string>& sni) {
  Arrival& arrival = connection.arrival;
  Verdict verdict;
  if (sni) {
    auto named = HostName::parse(*sni);
    if (!named || named->is_address()) {
      verdict.reason = Reason::malformed_request;
      return verdict;
    }
    const bool mismatch = arrival.bound && *arrival.bound != *named;
    arrival.bound = std::move(*named);
    if (mismatch) {
      verdict.reason = Reason::authority_mismatch;
      return verdict;
    }
  }
  return connection.session->policy.authorize_connection(*authority_of(arrival));
}

// Between the client's hello and our answer. False ends the handshake without one.
bool on_hello(void* context, SSL* ssl) {
  auto& hello = *static_cast<Hello*>(context);
  Connection& connection = hello.connection;
  const auto sni = SandboxTls::server_name(ssl);
  Verdict verdict = decide(connection, sni);
  if (!verdict.allows()) {
    // With a name in the hello the refusal can be told in HTTP; without one only an alert is honest.
    const bool tellable = sni.has_value() && connection.arrival.bound.has_value() &&
                          verdict.reason != Reason::malformed_request;
    if (!tellable) {
      hello.refusal = std::move(verdict);
      hello.refused = true;
      SandboxTls::refuse(ssl);
      return true;
    }
    connection.arrival.refused = std::move(verdict);
  }
  const auto authority = authority_of(connection.arrival);
  LeafCache& leaves = connection.gateway.leaves;
  const std::shared_ptr<X509> leaf = leaves.leaf(authority->host);
  if (leaf && SandboxTls::present(ssl, leaf.get(), leaves.authority().leaf_key())) return true;
  hello.refusal.reason = Reason::internal;
  hello.refused = true;
  return false;
}

}  // namespace

Task<bool> accept_tls(Connection& connection, std::string where) {
  connection.stream.begin_tls(connection.gateway.sandbox_tls.make());
  connection.stream.end_reads_at(std::chrono::steady_clock::now() + connection.gateway.limits.handshake);
  connection.stream.limit_writes(connection.gateway.limits.handshake);
  Hello hello{connection, {}, false};
  auto shaken = co_await connection.stream.handshake(on_hello, &hello);
  if (shaken) {
    connection.version = negotiated_version(connection.stream.ssl());
    co_return true;
  }
  Verdict verdict = hello.refusal;
  if (!hello.refused) {
    // The client did not like what it saw (a pinned certificate, another trust store) or went away.
    verdict.reason = shaken.error() == IoError::timed_out ? Reason::client_timeout : Reason::client_broken;
  }
  const std::string named = connection.arrival.bound ? connection.arrival.bound->str() : where;
  connection.session->denials.add(verdict.reason, "TLS to " + named, verdict.suggestion);
  (void)co_await record_refused_connection(connection, "tls", verdict, "tls://" + named);
  connection.stream.shutdown_write();
  co_return false;
}

}  // namespace warder
