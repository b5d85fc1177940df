// The request body on its way up: placeholders in it are swapped where a grant says, else tripwires.
#include <algorithm>

#include "proxy/exchange.hpp"
#include "proxy/metering.hpp"

namespace warder {
namespace {

constexpr std::uint64_t kSmallBody = 64 * 1024;

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

// Counts what the sandbox sends, not what a swap makes of it. A declared length was refused before.
std::optional<Refusal> past_the_most(Exchange& exchange, std::string_view piece) {
  exchange.upload.received += piece.size();
  const std::uint64_t received = exchange.upload.received;
  if (exchange.max_body && received > *exchange.max_body) {
    Refusal refusal = plain(Reason::too_large, "the body is longer than the " +
                                                   std::to_string(*exchange.max_body) +
                                                   " bytes that its rule allows");
    refusal.suggestion = "send less, or raise max_body of the rule";
    return refusal;
  }
  const auto most = exchange.body_limit;
  if (!most || received <= *most) return std::nullopt;
  return refusal_of({Limit::request_body, *most, std::nullopt, std::nullopt});
}

Task<bool> send(Exchange& exchange, std::string_view piece) {
  auto refused = co_await pay(exchange, Meter::Way::up, piece.size());
  if (refused) {
    fail(exchange, std::move(*refused));
    co_return false;
  }
  exchange.receipt.bytes_up += piece.size();
  co_return co_await exchange.origin->send_body(piece);
}

Task<BodyStep> next_step(Exchange& exchange) {
  Upload& upload = exchange.upload;
  if (!upload.ahead) co_return co_await exchange.client.read_body();
  if (upload.ahead->empty() || std::exchange(upload.ahead_taken, true))
    co_return BodyStep::at_end();
  co_return BodyStep::bytes(as_view(*upload.ahead));
}

// What a body goes through: the wire alone, or a swap that has one.
class BodyFilter {
 public:
  explicit BodyFilter(Exchange& exchange) : exchange_(exchange) {
    if (exchange.body.empty())
      wire_.emplace(*exchange.secrets);
    else
      swap_.emplace(*exchange.secrets, exchange.body);
  }

  // What may leave now. Nothing of it when refusal() has something to say.
  std::string_view feed(std::string_view piece) {
    if (wire_) return wire_->feed(piece, held_);
    out_.clear();
    (void)swap_->feed(piece, out_);
    return swapped();
  }
  std::string_view finish() {
    if (wire_) return wire_->finish(held_);
    out_.clear();
    (void)swap_->finish(out_);
    return swapped();
  }
  std::optional<Refusal> refusal() const {
    constexpr std::string_view kWhere = "the request body";
    if (wire_ && wire_->hit()) return tripped(exchange_, *wire_, kWhere);
    if (swap_ && swap_->refusal()) return tripped(exchange_, *swap_->refusal(), kWhere);
    return std::nullopt;
  }

 private:
  std::string_view swapped() {
    note_swapped(exchange_, swap_->take_counts());
    return as_view(out_);
  }

  Exchange& exchange_;
  std::optional<BodyTripwire> wire_;
  std::optional<BodySwap> swap_;
  std::string held_;
  WipedBytes out_;
};

bool passes_trailers(Exchange& exchange, HeaderList& trailers) {
  auto looked = check_trailers(trailers, *exchange.authority, *exchange.secrets);
  if (auto* refused = std::get_if<SwapRefusal>(&looked)) {
    const bool foreign = refused->reason == Reason::foreign_credential;
    fail(exchange, plain(refused->reason, foreign ? "a credential stands in a trailer"
                                                  : "a placeholder stands in a trailer"));
    return false;
  }
  const SwapPlan& plan = std::get<SwapPlan>(looked);
  for (const ForeignCredential& own : plan.foreign) {
    const bool stripped = own.what == Grant::Foreign::strip;
    note_swapped(exchange, {{stripped ? "foreign:stripped" : "foreign:passed", 0, own.place, 1}});
  }
  strip_foreign(trailers, plan);
  const bool swapped = !exchange.receipt.swapped.empty();
  if (!exchange.body.empty() && (swapped || !exchange.upload.whole)) drop_digests(trailers);
  return true;
}

Task<> finish(Exchange& exchange, std::string_view rest) {
  HeaderList& trailers = exchange.client.trailers();
  if (!passes_trailers(exchange, trailers)) co_return;
  charge(exchange, Meter::Way::up, trailers);
  if (!co_await send(exchange, rest)) co_return;
  const OriginLeg::Sent ended = co_await exchange.origin->send_end(trailers);
  if (ended == OriginLeg::Sent::unwritable) fail(exchange, plain(Reason::malformed_request));
  exchange.upload.complete = ended == OriginLeg::Sent::whole;
}

Task<> pump(Exchange& exchange) {
  BodyFilter filter(exchange);
  while (!exchange.upload.stopping) {
    const BodyStep step = co_await next_step(exchange);
    if (step.kind == BodyStep::Kind::failed) {
      if (!exchange.upload.stopping) fail(exchange, plain(step.reason, step.detail));
      co_return;
    }
    const bool at_end = step.kind == BodyStep::Kind::end;
    if (auto refused = past_the_most(exchange, step.piece)) {
      fail(exchange, std::move(*refused));
      co_return;
    }
    const std::string_view piece = at_end ? filter.finish() : filter.feed(step.piece);
    if (auto refused = filter.refusal()) {
      fail(exchange, std::move(*refused));
      co_return;
    }
    if (at_end) {
      co_await finish(exchange, piece);
      co_return;
    }
    // The origin no longer takes it: it may have answered already, and the download will see.
    if (!co_await send(exchange, piece)) co_return;
  }
}

// From here on its length and what is in it are known.
Task<std::optional<Refusal>> swap_whole(Exchange& exchange) {
  BodyFilter filter(exchange);
  WipedBytes whole;
  for (bool at_end = false; !at_end;) {
    const BodyStep step = co_await next_step(exchange);
    if (step.kind == BodyStep::Kind::failed) co_return plain(step.reason, step.detail);
    if (auto refused = past_the_most(exchange, step.piece)) co_return refused;
    at_end = step.kind == BodyStep::Kind::end;
    const std::string_view piece = at_end ? filter.finish() : filter.feed(step.piece);
    if (auto refused = filter.refusal()) co_return std::move(*refused);
    whole.insert(whole.end(), piece.begin(), piece.end());
  }
  exchange.framing.length = whole.size();
  exchange.head.fields.set("content-length", std::to_string(whole.size()));
  exchange.upload.whole = std::move(whole);
  std::erase_if(exchange.body.uses, [&](const SecretUse& use) {
    const auto& swapped = exchange.receipt.swapped;
    return std::none_of(swapped.begin(), swapped.end(), [&](const auto& each) {
      return each.name == use.secret && each.place == use.place;
    });
  });
  if (!exchange.receipt.swapped.empty()) drop_digests(exchange.head.fields);
  co_return std::nullopt;
}

}  // namespace

Refusal tripped(const Exchange& exchange, const BodyTripwire& tripwire, std::string_view where) {
  const SwapRefusal refused{tripwire.reason(), tripwire.secret(), "", ""};
  return tripped(exchange, refused, where);
}

Refusal tripped(const Exchange& exchange, const SwapRefusal& refused, std::string_view where) {
  Refusal refusal;
  refusal.reason = refused.reason;
  refusal.suggestion = refused.suggestion;
  if (refusal.reason == Reason::placeholder_wrong_place) {
    const auto grants = exchange.secrets->grants_for(exchange.authority->host);
    const auto names_it = [&](const Grant* grant) { return grant->secret == refused.secret; };
    if (std::none_of(grants.begin(), grants.end(), names_it))
      refusal.reason = Reason::placeholder_wrong_host;
  }
  if (refusal.reason == Reason::foreign_credential)
    refusal.detail = "it stands in " + refused.place + " of ";
  else if (refused.secret.empty() && refusal.reason == Reason::body_unswappable)
    refusal.detail = refused.place + ", in ";
  else
    refusal.detail = "a placeholder of secret " + refused.secret + " stands in ";
  refusal.detail += where;
  return refusal;
}

void note_swapped(Exchange& exchange, const std::vector<BodySwap::Count>& counts) {
  auto& swapped = exchange.receipt.swapped;
  for (const BodySwap::Count& found : counts) {
    const auto known = std::find_if(swapped.begin(), swapped.end(), [&](const auto& entry) {
      return entry.name == found.name && entry.place == found.place;
    });
    if (known != swapped.end())
      known->count += found.count;
    else
      swapped.push_back({found.name, found.place, found.count});
  }
}

Task<std::optional<Refusal>> read_ahead(Exchange& exchange) {
  const bool is_small = exchange.framing.kind == Framing::Kind::length &&
                        exchange.framing.length > 0 && exchange.framing.length <= kSmallBody;
  if (!is_small) co_return std::nullopt;
  if (exchange.head.fields.has_token("expect", "100-continue")) {
    ResponseHead go_on;
    go_on.status = 100;
    go_on.phrase = "Continue";
    const bool heard = co_await exchange.client.write_interim(go_on);
    if (!heard) co_return plain(Reason::client_broken);
    exchange.head.fields.remove("expect");  // it is done: the body is here
  }
  // The wire as it will be, but for what a grant lets in: that is told apart when it is swapped.
  std::optional<BodyTripwire> wire;
  if (exchange.body.empty()) wire.emplace(*exchange.secrets);
  std::string held;
  WipedBytes whole;
  for (;;) {
    const BodyStep step = co_await exchange.client.read_body();
    if (step.kind == BodyStep::Kind::failed) co_return plain(step.reason, step.detail);
    const bool at_end = step.kind == BodyStep::Kind::end;
    if (wire) (void)(at_end ? wire->finish(held) : wire->feed(step.piece, held));
    if (wire && wire->hit()) co_return tripped(exchange, *wire, "the request body");
    if (at_end) break;
    whole.insert(whole.end(), step.piece.begin(), step.piece.end());
  }
  exchange.upload.ahead = std::move(whole);
  co_return std::nullopt;
}

Task<std::optional<Refusal>> prepare_body(Exchange& exchange) {
  const bool has_length = exchange.framing.kind == Framing::Kind::length;
  // Who expects 100 sends nothing before the origin says it.
  const bool is_small =
      has_length && exchange.framing.length <= kSmallBody && !exchange.head.fields.has("expect");
  if (is_small || !has_length) exchange.body.keeps_length = false;  // nothing was said of it yet
  if (is_small) co_return co_await swap_whole(exchange);
  drop_digests(exchange.head.fields);
  if (has_length && !exchange.body.keeps_length) {
    exchange.framing = {Framing::Kind::chunked, 0};
    exchange.head.fields.remove("content-length");
  }
  co_return std::nullopt;
}

Task<> run_upload(Exchange& exchange) {
  if (exchange.upload.whole)
    co_await finish(exchange, as_view(*exchange.upload.whole));
  else
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
