#include "proxy/metering.hpp"

#include <algorithm>

#include <boost/asio/steady_timer.hpp>

namespace warder {
namespace {

constexpr std::uint64_t kFieldOverhead = 4;  // ": " and CRLF

SteadyTime now() { return std::chrono::steady_clock::now(); }

std::uint64_t size_of(const HeaderList& fields) {
  std::uint64_t size = 0;
  for (const HeaderField& field : fields)
    size += field.name.size() + field.value.size() + kFieldOverhead;
  return size;
}

std::uint64_t size_of(const RequestHead& head) {
  return head.method.size() + head.target.size() + size_of(head.fields);
}

// Looks up as often as the worker sweeps, so that what ends under it ends it.
Task<> pause(Connection& connection, std::chrono::milliseconds time, IsOver is_over) {
  asio::steady_timer timer(connection.worker.loop());
  const SteadyTime until = now() + time;
  while (now() < until && !is_over()) {
    timer.expires_at(std::min(until, now() + Worker::kSweepEvery));
    (void)co_await timer.async_wait(as_result);
  }
}

}  // namespace

void Session::end_when_due(SteadyTime at) {
  const auto over = meter.is_over(at);
  if (!over || life.exchange(Life::ended) == Life::ended) return;
  denials.add(Reason::session_ended, over->sentence(), "");
  if (announce) announce(over->sentence() + ": the sandbox has no network any more");
}

void Connection::count() {
  if (std::exchange(was_counted, true)) return;
  exceeded = session->meter.open_connection(now());
}

Refusal refusal_of(const Exceeded& exceeded) {
  Refusal refusal;
  const bool body = exceeded.limit == Limit::request_body;
  refusal.reason = body ? Reason::too_large : Reason::limit_exceeded;
  refusal.detail = exceeded.sentence();
  refusal.rule = "limits." + std::string(to_string(exceeded.limit));
  refusal.limit = exceeded.name();
  refusal.retry_after = exceeded.retry_after();
  return refusal;
}

std::optional<Refusal> refuse_connection(Exchange& exchange) {
  Connection& connection = exchange.connection;
  if (!connection.exceeded) return std::nullopt;
  exchange.client_keeps_alive = false;
  if (connection.say_goodbye) connection.say_goodbye();
  return refusal_of(*connection.exceeded);
}

std::optional<Refusal> admit(Exchange& exchange) {
  Meter& meter = exchange.session.meter;
  const std::uint64_t body =
      exchange.framing.kind == Framing::Kind::length ? exchange.framing.length : 0;
  if (const auto most = meter.find(Limit::request_body)) {
    exchange.body_limit = *most;
    if (body > *most) return refusal_of({Limit::request_body, *most, std::nullopt, std::nullopt});
  }
  const auto exceeded = meter.begin_request(size_of(exchange.head), body, exchange.began);
  if (exceeded) return refusal_of(*exceeded);
  exchange.is_metered = true;
  return std::nullopt;
}

std::optional<Exceeded> admit_raw(const Connection& connection) {
  if (connection.exceeded) return connection.exceeded;
  return connection.session->meter.begin_bytes(now());
}

Task<std::optional<Refusal>> pay(Connection& connection, Meter::Way way, std::uint64_t bytes,
                                 IsOver is_over) {
  const Meter::Passage passage = connection.session->meter.pass(way, bytes, now());
  if (passage.exceeded) co_return refusal_of(*passage.exceeded);
  if (passage.wait.count() > 0) co_await pause(connection, passage.wait, std::move(is_over));
  co_return std::nullopt;
}

Task<std::optional<Refusal>> pay(Exchange& exchange, Meter::Way way, std::uint64_t bytes) {
  const Stream& client = exchange.connection.stream;
  auto is_over = [&exchange, &client, way] {
    const bool unwanted = way == Meter::Way::up && exchange.upload.stopping;
    return unwanted || exchange.ended || exchange.client.is_gone() || !client.is_open() ||
           client.peer_gone() || exchange.session.life == Life::ended;
  };
  co_return co_await pay(exchange.connection, way, bytes, std::move(is_over));
}

void charge(Exchange& exchange, Meter::Way way, const HeaderList& fields) {
  (void)exchange.session.meter.pass(way, size_of(fields), now());
}

}  // namespace warder
