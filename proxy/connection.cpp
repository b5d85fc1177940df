#include "proxy/connection.hpp"

#include "proxy/h1_client.hpp"
#include "proxy/h2_client.hpp"
#include "proxy/record.hpp"

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

// `gone`: before a word was said. `cut`: in the middle of one.
enum class HeadOutcome : std::uint8_t { ready, gone, cut, malformed, late };

Task<HeadOutcome> read_head(Connection& connection) {
  connection.parser.begin_request();
  const GatewayLimits& limits = connection.gateway.limits;
  // Two deadlines, not two idle limits: a byte a second must not hold a connection for ever.
  const auto patience = connection.strangers == nullptr ? limits.keep_alive : limits.handshake;
  connection.stream.end_reads_at(std::chrono::steady_clock::now() + patience);
  bool started = false;
  for (;;) {
    connection.is_idle = !started && connection.input.empty();
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
    connection.is_idle = false;
    if (filled) continue;
    if (!started) co_return HeadOutcome::gone;
    co_return filled.error() == IoError::timed_out ? HeadOutcome::late : HeadOutcome::cut;
  }
}

// What cannot be read is recorded and answered all the same.
Task<> refuse_head(Connection& connection, HeadOutcome outcome) {
  if (outcome == HeadOutcome::gone) {
    connection.stream.shutdown_write();
    co_return;
  }
  H1Client client(connection);
  const Reason why = outcome == HeadOutcome::late  ? Reason::client_timeout
                     : outcome == HeadOutcome::cut ? Reason::client_broken
                                                   : reason_of(connection.parser.error());
  connection.stream.limit_writes(connection.gateway.limits.linger);
  co_await refuse_unread(connection, client, why);
  co_await linger(connection.stream, connection.gateway.limits);
}

// One request after another.
Task<> serve_h1(Connection& connection) {
  for (;;) {
    auto request = co_await next_request(connection);
    if (!request) co_return;
    H1Client client(connection);
    const After after = co_await handle(connection, client, std::move(*request));
    if (after == After::next_request) continue;
    if (after == After::linger) co_await linger(connection.stream, connection.gateway.limits);
    co_return;
  }
}

}  // namespace

bool Connection::meet(audit::Burst& kind) {
  strangers = &kind;
  --session->connections;
  return ++session->strangers <=
         std::min(gateway.limits.strangers_per_session, gateway.files.of_each());
}

void Connection::admit() {
  if (std::exchange(strangers, nullptr) == nullptr) return;
  --session->strangers;
  ++session->connections;
}

void Connection::on_sweep(SteadyTime now) {
  session->end_when_due(now);
  const Life life = session->life;
  const GatewayLimits& limits = gateway.limits;
  // Many that say nothing must not keep out the one who has the token.
  const bool crowded = session->strangers > limits.patient_strangers;
  if (strangers != nullptr && crowded && now - began >= limits.stranger_hurry) stream.close();
  const bool cut_off = session->quarantined && !began_in_quarantine;
  if (life == Life::open && !cut_off) return;
  if (life == Life::ended || cut_off || (is_idle && !say_goodbye)) {
    stream.close();
  } else if (say_goodbye) {
    say_goodbye();
  }
}

Task<std::optional<IncomingRequest>> next_request(Connection& connection) {
  const HeadOutcome outcome = co_await read_head(connection);
  if (outcome != HeadOutcome::ready) {
    co_await refuse_head(connection, outcome);
    co_return std::nullopt;
  }
  RequestHead& head = connection.parser.request();
  const bool old = head.minor == 0;
  const bool leaves = connection.session->life != Life::open;
  IncomingRequest request{std::move(head), connection.parser.framing(),
                          old ? HttpVersion::http10 : HttpVersion::http11,
                          connection.parser.keep_alive() && !old && !leaves};
  co_return std::move(request);
}

Task<> serve_requests(Connection& connection) {
  if (connection.version == HttpVersion::http2)
    co_await serve_h2(connection);
  else
    co_await serve_h1(connection);
}

Task<bool> record_refused_connection(Connection& connection, std::string protocol,
                                     const Verdict& verdict, std::string authority) {
  std::uint64_t together = 0;
  if (connection.strangers != nullptr) {
    const SteadyTime now = std::chrono::steady_clock::now();
    const bool alone = connection.strangers->is_recorded_alone(now);
    together = alone ? 0 : connection.strangers->take(now);
    if (!alone && together == 0) co_return true;
    if (together > 0) authority = "(" + std::to_string(together) + " more)";
  }
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
  if (!sequence && together > 0) connection.strangers->put_back(together);
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
    const std::span<char> room(scrap.get(), Input::kBytes);
    auto taken = co_await stream.discard_some(room);
    if (!taken || *taken == 0) co_return;
    left -= std::min<std::uint64_t>(left, *taken);
  }
}

}  // namespace warder
