// The request body on its way up: watched for placeholders, never swapped.
#include <algorithm>

#include "proxy/exchange.hpp"

namespace warder {
namespace {

Refusal plain(Reason reason, std::string detail = {}) {
  Refusal refusal;
  refusal.reason = reason;
  refusal.detail = std::move(detail);
  return refusal;
}

// Aborts the origin's side, so that a body that broke off is never taken for a whole one.
void fail(Exchange& exchange, Refusal refusal) {
  exchange.upload.failed = std::move(refusal);
  exchange.origin->abort();
}

Task<bool> send(Exchange& exchange, std::string_view piece) {
  exchange.receipt.bytes_up += piece.size();
  co_return co_await exchange.origin->send_body(piece);
}

Task<> finish(Exchange& exchange, BodyTripwire& tripwire, std::string& held) {
  HeaderList& trailers = exchange.client.trailers();
  auto looked = check_trailers(trailers, *exchange.secrets);
  if (auto* refused = std::get_if<SwapRefusal>(&looked)) {
    fail(exchange, plain(refused->reason, "a placeholder stands in a trailer"));
    co_return;
  }
  const std::string_view rest = tripwire.finish(held);
  if (!co_await send(exchange, rest)) co_return;
  const OriginLeg::Sent ended = co_await exchange.origin->send_end(trailers);
  if (ended == OriginLeg::Sent::unwritable) fail(exchange, plain(Reason::malformed_request));
  exchange.upload.complete = ended == OriginLeg::Sent::whole;
}

Task<> pump(Exchange& exchange) {
  BodyTripwire tripwire(*exchange.secrets);
  std::string held;  // what the tripwire lets go of
  while (!exchange.upload.stopping) {
    const BodyStep step = co_await exchange.client.read_body();
    if (step.kind == BodyStep::Kind::failed) {
      if (!exchange.upload.stopping) fail(exchange, plain(step.reason, step.detail));
      co_return;
    }
    if (step.kind == BodyStep::Kind::end) {
      co_await finish(exchange, tripwire, held);
      co_return;
    }
    const std::string_view piece = tripwire.feed(step.piece, held);
    if (tripwire.hit()) {
      fail(exchange, tripped(exchange, tripwire, "the request body"));
      co_return;
    }
    // The origin no longer takes it: it may have answered already, and the download will see.
    if (!co_await send(exchange, piece)) co_return;
  }
}

}  // namespace

Refusal tripped(const Exchange& exchange, const BodyTripwire& tripwire, std::string_view where) {
  Refusal refusal;
  refusal.reason = tripwire.reason();
  if (refusal.reason == Reason::placeholder_wrong_place) {
    const auto grants = exchange.secrets->grants_for(exchange.authority->host);
    const auto names_it = [&](const Grant* grant) { return grant->secret == tripwire.secret(); };
    if (std::none_of(grants.begin(), grants.end(), names_it))
      refusal.reason = Reason::placeholder_wrong_host;
  }
  refusal.detail = "a placeholder of secret " + tripwire.secret() + " stands in ";
  refusal.detail += where;
  return refusal;
}

Task<> run_upload(Exchange& exchange) {
  co_await pump(exchange);
  exchange.upload.running = false;
  limit_silence(exchange);
  exchange.upload.finished.cancel();
}

Task<> stop_upload(Exchange& exchange) {
  if (!exchange.upload.running) co_return;
  exchange.upload.stopping = true;
  exchange.client.stop_reading();
  exchange.origin->close();
  while (exchange.upload.running) (void)co_await exchange.upload.finished.async_wait(as_result);
}

}  // namespace warder
