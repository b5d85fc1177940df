#include "proxy/sandbox_tls.hpp"

#include "policy/ask.hpp"
#include "proxy/record.hpp"

namespace warder {
namespace {

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
  return connection.session->authorize_connection(*authority_of(arrival));
}

// No record, no egress: false, and the request will be told.
Task<bool> record_dial(Connection& connection, const Authority& authority, const Verdict& verdict) {
  audit::Dial dial{connection.session->id, connection.ingress, authority.origin(), verdict.rule,
                   verdict.where};
  audit::Record entry(std::move(dial));
  auto sequence =
      co_await record(connection.gateway.audit, std::move(entry), audit::Durability::accepted, 0);
  co_return sequence.has_value();
}

// What the origin speaks: the sandbox is offered no more, so that nothing has to be translated that need not be. It is
// known from before, or the origin is dialled now, and the first request finds the connection.
Task<HttpVersion> version_of_origin(Connection& connection, Verdict verdict) {
  const Authority authority = *authority_of(connection.arrival);
  if (const auto known = connection.gateway.versions.find(authority)) co_return *known;
  // A client certificate is for requests that were allowed, and without it the answer would mean nothing.
  const auto policy = connection.session->policy.now();
  if (policy->certificates.find(authority.host)) co_return HttpVersion::http11;
  if (!may_dial_unasked(policy->policy.rules(), authority)) co_return HttpVersion::http11;
  const auto allowed =
      verdict.allow_private ? PrivateAddresses::allowed : PrivateAddresses::refused;
  const auto permit = [&] { return record_dial(connection, authority, verdict); };
  OriginKey key{authority, allowed, nullptr};
  co_return co_await connection.origins.probe(std::move(key), permit);
}

// Between the client's hello and our answer. A verdict that refuses: only an alert can tell it.
Task<Verdict> answer_hello(Connection& connection) {
  SSL* ssl = connection.stream.ssl();
  const auto sni = SandboxTls::server_name(ssl);
  const bool offers_h2 = SandboxTls::offers_h2(ssl);
  Verdict verdict = decide(connection, sni);
  HttpVersion best = HttpVersion::http11;
  if (verdict.allows()) {
    if (offers_h2 && !connection.exceeded) best = co_await version_of_origin(connection, verdict);
  } else {
    // With a name in the hello the refusal can be told in HTTP; without one only an alert is honest.
    const bool tellable = sni.has_value() && connection.arrival.bound.has_value() &&
                          verdict.reason != Reason::malformed_request;
    if (!tellable) {
      SandboxTls::refuse(ssl);
      co_return verdict;
    }
    connection.arrival.refused = std::move(verdict);
  }
  const auto authority = authority_of(connection.arrival);
  LeafCache& leaves = connection.gateway.leaves;
  const std::shared_ptr<X509> leaf = leaves.leaf(authority->host);
  Verdict answer;
  answer.reason = Reason::internal;
  if (leaf && SandboxTls::present(ssl, leaf.get(), leaves.authority().leaf_key(), best)) {
    answer.decision = Decision::allow;
  } else {
    SandboxTls::refuse(ssl);
  }
  co_return answer;
}

Task<Result<>> shake_hands(Connection& connection, Verdict& answer) {
  Stream& stream = connection.stream;
  const SteadyDuration limit = connection.gateway.limits.handshake;
  stream.end_reads_at(std::chrono::steady_clock::now() + limit);
  auto shaken = co_await stream.handshake();
  if (shaken || shaken.error() != IoError::hello_pending) co_return shaken;
  answer = co_await answer_hello(connection);
  stream.end_reads_at(std::chrono::steady_clock::now() + limit);
  co_return co_await stream.handshake();
}

}  // namespace

Task<bool> accept_tls(Connection& connection, std::string where) {
  connection.stream.begin_tls(connection.gateway.sandbox_tls.make());
  connection.stream.limit_writes(connection.gateway.limits.handshake);
  Verdict answer;
  answer.decision = Decision::allow;
  auto shaken = co_await shake_hands(connection, answer);
  if (shaken) {
    connection.version = negotiated_version(connection.stream.ssl());
    co_return true;
  }
  if (answer.allows()) {
    // The client did not like what it saw (a pinned certificate, another trust store) or went away.
    answer.reason =
        shaken.error() == IoError::timed_out ? Reason::client_timeout : Reason::client_broken;
  }
  const std::string named = connection.arrival.bound ? connection.arrival.bound->str() : where;
  connection.session->denials.add(answer.reason, "TLS to " + named, answer.suggestion);
  (void)co_await record_refused_connection(connection, "tls", answer, "tls://" + named);
  connection.stream.shutdown_write();
  co_return false;
}

}  // namespace warder
