// The response on its way down: its head rewritten and masked, its body masked as it streams, its end only passed on
// when the origin ended it and the receipt is written.
#include <algorithm>

#include <boost/asio/post.hpp>

#include "proxy/body_mask.hpp"
#include "proxy/exchange.hpp"
#include "proxy/metering.hpp"

namespace warder {
namespace {

constexpr int kMostInterim = 1'000;  // each of them begins the wait for the response anew

Refusal plain(Reason reason, std::string detail = {}) {
  Refusal refusal;
  refusal.reason = reason;
  refusal.detail = std::move(detail);
  return refusal;
}

// Why a read from the origin ended: the upload's doing, or what the leg says.
Refusal read_failure(const Exchange& exchange, const BodyStep& step) {
  if (exchange.ended) return plain(*exchange.ended);
  if (exchange.upload.failed) return *exchange.upload.failed;
  return plain(step.reason, step.detail);
}

// 100, 102, 103: passed on as they come; a client of HTTP/1.0 does not know them.
Task<std::optional<Refusal>> pass_interim(Exchange& exchange) {
  ResponseHead interim = exchange.origin->head();
  if (interim.status == 101)
    co_return plain(Reason::upstream_broken, "the origin switched protocols unasked");
  if (exchange.client_version == HttpVersion::http10) co_return std::nullopt;
  const FollowedMask masks(exchange.session.secrets);
  const ResponsePlan plan = prepare_response(interim, Framing(), masks.set(),
                                             exchange.client_version, AfterThis::keep_open);
  if (!plan.is_well_formed)
    co_return plain(Reason::upstream_broken, "an interim response is malformed");
  if (!co_await exchange.client.write_interim(interim)) co_return plain(Reason::client_broken);
  co_return std::nullopt;
}

// A host that has a grant may know the value whether or not this request held it.
MayKnow origin_may_know(const Exchange& exchange) {
  return exchange.secrets->grants_for(exchange.authority->host).empty() ? MayKnow::no
                                                                        : MayKnow::yes;
}

Refusal unmaskable(const BodyMask& mask) {
  return plain(Reason::response_unmaskable, mask.failure());
}

// The next step of the body, with nothing left lying here while the origin is silent. nullopt: the client is gone.
Task<std::optional<BodyStep>> next_step(Exchange& exchange, BodyMask& mask) {
  if (auto ready = exchange.origin->try_read_body()) co_return ready;
  if (!co_await exchange.client.flush()) co_return std::nullopt;
  if (const std::string_view coded = mask.flush(); !coded.empty()) {
    exchange.client.hold(coded);
    if (!co_await exchange.client.flush()) co_return std::nullopt;
  }
  if (mask.holds_a_word()) {
    exchange.word_waits = true;
    limit_silence(exchange);
    BodyStep step = co_await exchange.origin->read_body();
    exchange.word_waits = false;
    limit_silence(exchange);
    const bool silent =
        step.kind == BodyStep::Kind::failed && step.reason == Reason::upstream_timeout;
    if (!silent) co_return step;
    exchange.client.hold(mask.release());
    if (!co_await exchange.client.flush()) co_return std::nullopt;
  }
  co_return co_await exchange.origin->read_body();
}

// The client's going away, which an answer that is all there survives.
bool is_absence(Reason reason) {
  return reason == Reason::client_broken || reason == Reason::client_timeout;
}

// The end of the body: recorded before it leaves.
Task<std::optional<Refusal>> pass_end(Exchange& exchange, BodyMask& mask) {
  const std::string_view last = mask.finish();
  note_masked(exchange, mask.counts(), "body");
  if (!mask.failure().empty()) co_return unmaskable(mask);
  HeaderList& trailers = exchange.origin->trailers();
  charge(exchange, Meter::Way::down, trailers);
  const FollowedMask masks(exchange.session.secrets);
  mask_fields(trailers, masks.set(), "trailer:", exchange.receipt.masked);
  if (!exchange.client.hold_end(last, trailers)) {
    co_return plain(Reason::upstream_broken, "the trailers are malformed");
  }
  // Whatever the origin made of its beginning: a request that ended in a tripwire has no clean answer.
  if (exchange.upload.failed && !is_absence(exchange.upload.failed->reason))
    co_return *exchange.upload.failed;
  if (!exchange.close_receipt(Reason::none, exchange.receipt.status))
    co_return plain(Reason::audit_unavailable);
  if (!co_await exchange.client.flush()) co_return plain(Reason::client_broken);
  co_return std::nullopt;
}

// All else that a piece unfolds into; others have their turn in between. The last part is held. False: the client is gone.
Task<bool> pass_rest(Exchange& exchange, BodyMask& mask) {
  while (mask.has_more()) {
    if (exchange.client.is_gone() || !co_await exchange.client.flush()) co_return false;
    co_await asio::post(exchange.connection.worker.loop(), asio::use_awaitable);
    exchange.client.hold(mask.more());
  }
  co_return true;
}

// `begun`: what the mask made of a piece that was there with the head.
Task<std::optional<Refusal>> relay_body(Exchange& exchange, BodyMask& mask,
                                        std::string_view begun) {
  for (exchange.client.hold(begun);;) {
    if (mask.has_more() && !co_await pass_rest(exchange, mask))
      co_return plain(Reason::client_broken);
    if (!mask.failure().empty()) co_return unmaskable(mask);
    const auto step = co_await next_step(exchange, mask);
    if (!step) co_return plain(Reason::client_broken);
    if (step->kind == BodyStep::Kind::failed) co_return read_failure(exchange, *step);
    if (step->kind == BodyStep::Kind::end) co_return co_await pass_end(exchange, mask);
    if (!co_await exchange.client.flush()) co_return plain(Reason::client_broken);
    auto refused = co_await pay(exchange, Meter::Way::down, step->piece.size());
    if (refused) co_return refused;
    exchange.client.hold(mask.feed(step->piece));
  }
}

}  // namespace

Masker::Holding holding_for(const Exchange& exchange) {
  return origin_may_know(exchange) == MayKnow::yes ? Masker::Holding::beginnings
                                                   : Masker::Holding::words;
}

void note_masked(Exchange& exchange, const std::vector<Masker::Count>& counts,
                 std::string_view place) {
  auto& masked = exchange.receipt.masked;
  for (const Masker::Count& count : counts) {
    const auto known =
        std::find_if(masked.begin(), masked.end(), [&](const audit::SecretMasked& entry) {
          return entry.place == place && entry.name == count.secret &&
                 entry.encoding == count.encoding;
        });
    if (known != masked.end())
      known->count += count.count;
    else
      masked.push_back(
          {count.secret, std::string(place), std::string(count.encoding), count.count});
  }
}

void limit_silence(Exchange& exchange) {
  const UpstreamConfig& limits = exchange.gateway.upstream;
  if (exchange.word_waits)
    exchange.origin->limit_reads(kWordWait);
  else if (exchange.upload.running)
    exchange.origin->end_reads_at(SteadyTime::max());
  else if (exchange.answered)
    exchange.origin->limit_reads(limits.idle_timeout);
  else
    exchange.origin->end_reads_at(std::chrono::steady_clock::now() + limits.response_timeout);
}

Task<std::optional<Refusal>> await_response(Exchange& exchange) {
  for (int interim = 0;; ++interim) {
    if (interim > kMostInterim) {
      co_return plain(Reason::upstream_broken, "the origin sends interim responses without end");
    }
    limit_silence(exchange);
    auto failed = co_await exchange.origin->read_head();
    if (failed) co_return read_failure(exchange, *failed);
    const int status = exchange.origin->head().status;
    if (status >= 200 || (status == 101 && exchange.websocket)) break;
    auto refused = co_await pass_interim(exchange);
    if (refused) co_return refused;
  }
  charge(exchange, Meter::Way::down, exchange.origin->head().fields);
  exchange.receipt.first_byte = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - exchange.began);
  co_return std::nullopt;
}

Task<std::optional<Refusal>> relay_response(Exchange& exchange) {
  ResponseHead& head = exchange.origin->head();
  const FollowedMask masks(exchange.session.secrets);
  const Framing framing = exchange.origin->framing();
  const MaskPlan body = plan_mask(head, framing, masks, origin_may_know(exchange));
  if (!body.refused.empty()) co_return plain(Reason::response_unmaskable, body.refused);
  // An answer that overtakes its request may mean that the rest of it never comes.
  if (!exchange.is_request_done()) exchange.client_keeps_alive = false;
  const AfterThis after = exchange.client_keeps_alive ? AfterThis::keep_open : AfterThis::close;
  const BodyLength length = body.recodes() ? BodyLength::may_change : BodyLength::kept;
  ResponsePlan plan =
      prepare_response(head, framing, masks.set(), exchange.client_version, after, length);
  exchange.receipt.status = head.status;
  exchange.receipt.masked = std::move(plan.masked);
  BodyMask mask(masks, holding_for(exchange), body);
  // What is not in its coding from the first byte on can still be told as such, if that byte is there already.
  std::string_view begun;
  bool is_empty = false;
  if (body.recodes()) {
    const auto first = exchange.origin->try_read_body();
    if (first && first->kind == BodyStep::Kind::failed) co_return read_failure(exchange, *first);
    is_empty = first && first->kind == BodyStep::Kind::end;
    const std::size_t came = first ? first->piece.size() : 0;
    auto refused = co_await pay(exchange, Meter::Way::down, came);
    if (refused) co_return refused;
    if (first && !is_empty) begun = mask.feed(first->piece);
    if (!mask.failure().empty()) co_return unmaskable(mask);
  }
  if (!plan.is_well_formed || !exchange.client.begin_answer(head, plan.delivery)) {
    co_return plain(Reason::upstream_broken, "the response head is malformed");
  }
  if (plan.delivery == Delivery::until_close) exchange.client_keeps_alive = false;
  exchange.answered = true;
  limit_silence(exchange);
  if (is_empty) co_return co_await pass_end(exchange, mask);
  co_return co_await relay_body(exchange, mask, begun);
}

}  // namespace warder
