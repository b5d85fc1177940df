#include "proxy/connection.hpp"

#include "proxy/record.hpp"
#include "proxy/refusal.hpp"

namespace warder {
namespace {

Reason reason_of(H1Error error) {
  switch (error) {
    case H1Error::uri_too_long: return Reason::uri_too_long;
    case H1Error::head_too_large: return Reason::head_too_large;
    case H1Error::truncated: return Reason::client_broken;
    default: return Reason::malformed_request;
  }
}

enum class HeadOutcome : std::uint8_t { ready, gone, malformed, late };

Task<HeadOutcome> read_head(Connection& connection) {
  connection.parser.begin_request();
  const GatewayLimits& limits = connection.gateway.limits;
  // Two deadlines, not two idle limits: a byte a second must not hold a connection for ever.
  connection.stream.end_reads_at(std::chrono::steady_clock::now() + limits.keep_alive);
  bool started = false;
  for (;;) {
    std::string_view in = connection.input.view();
    const H1Event event = connection.parser.next(in);
    connection.input.keep(in);
    if (event == H1Event::head) co_return HeadOutcome::ready;
    if (event == H1Event::error) co_return HeadOutcome::malformed;
    if (!started && connection.parser.started()) {
      started = true;
      connection.stream.end_reads_at(std::chrono::steady_clock::now() + limits.request_head);
    }
    auto filled = co_await connection.input.fill(connection.stream);
    if (filled) continue;
    if (!started) co_return HeadOutcome::gone;
    co_return filled.error() == IoError::timed_out ? HeadOutcome::late : HeadOutcome::gone;
  }
}

// What cannot be parsed is recorded and answered, and the connection is of no further use.
Task<> refuse_head(Connection& connection, Reason reason) {
  Session& session = *connection.session;
  Verdict verdict;
  verdict.reason = reason;
  const auto authority = authority_of(connection.arrival);
  const std::string where = authority ? authority->origin() : "unknown host";
  if (!co_await record_refused_connection(connection, "http/1.1", verdict, where)) co_return;
  session.denials.add(reason, "request to " + where, "");
  Refusal refusal;
  refusal.reason = reason;
  const std::string answer = write_refusal(refusal, RequestHead(), Persist::close);
  connection.stream.limit_writes(connection.gateway.limits.linger);
  (void)co_await connection.stream.write_all(answer);
  co_await linger(connection.stream, connection.gateway.limits);
}

}  // namespace

Task<> serve_requests(Connection& connection) {
  for (;;) {
    const HeadOutcome outcome = co_await read_head(connection);
    switch (outcome) {
      case HeadOutcome::ready: break;
      case HeadOutcome::gone: connection.stream.shutdown_write(); co_return;
      case HeadOutcome::late: co_await refuse_head(connection, Reason::client_timeout); co_return;
      case HeadOutcome::malformed:
        co_await refuse_head(connection, reason_of(connection.parser.error()));
        co_return;
    }
    const After after = co_await handle(connection);
    if (after == After::close) co_return;
  }
}

Task<bool> record_refused_connection(Connection& connection, std::string protocol, const Verdict& verdict,
                                     std::string authority) {
  audit::Intent intent;
  intent.session = connection.session->id;
  intent.exchange = ++connection.session->exchanges;
  intent.ingress = connection.ingress;
  intent.protocol = std::move(protocol);
  intent.authority = std::move(authority);
  intent.decision = "deny";
  intent.reason = verdict.reason;
  intent.rule = verdict.rule;
  intent.where = verdict.where;
  audit::Record entry(std::move(intent));
  auto sequence =
      co_await record(connection.gateway.audit, std::move(entry), audit::Durability::accepted, 0);
  co_return sequence.has_value();
}

Task<> linger(Stream& stream, const GatewayLimits& limits) {
  stream.shutdown_write();
  const SteadyTime end = std::chrono::steady_clock::now() + limits.linger;
  stream.end_reads_at(end);
  std::uint64_t left = limits.linger_bytes;
  auto scrap = std::make_unique_for_overwrite<char[]>(Input::kBytes);
  while (left > 0) {
    if (std::chrono::steady_clock::now() >= end) co_return;
    auto taken = co_await stream.discard_some({scrap.get(), Input::kBytes});
    if (!taken || *taken == 0) co_return;
    left -= std::min<std::uint64_t>(left, *taken);
  }
}

}  // namespace warder
