// The response on its way down: its head rewritten and masked, its body masked as it streams, its end only passed on
// when the origin ended it and the receipt is written.
#include "http/h1_writer.hpp"
#include "proxy/exchange.hpp"

namespace warder {
namespace {

Refusal plain(Reason reason, std::string detail = {}) {
  Refusal refusal;
  refusal.reason = reason;
  refusal.detail = std::move(detail);
  return refusal;
}

// Why a read from the origin ended: the client's doing, ours, or the origin's.
Refusal read_failure(Exchange& exchange, const error_code& error) {
  if (exchange.upload.failed) return *exchange.upload.failed;
  if (error == IoError::timed_out) return plain(Reason::upstream_timeout);
  if (error == IoError::closed) return plain(Reason::client_broken);
  return plain(Reason::upstream_broken, error.message());
}

// The next event that is not need_more, reading as needed.
Task<std::variant<H1Event, Refusal>> next_event(Exchange& exchange) {
  Upstream& origin = exchange.upstream();
  for (;;) {
    std::string_view in = origin.input().view();
    const H1Event event = origin.parser().next(in);
    origin.input().keep(in);
    if (event == H1Event::error) co_return plain(Reason::upstream_broken, "the response is malformed");
    if (event != H1Event::need_more) co_return event;
    auto filled = co_await origin.input().fill(origin.stream());
    if (filled) continue;
    if (filled.error() != IoError::end_of_stream) co_return read_failure(exchange, filled.error());
    const H1Event last = origin.parser().eof();
    if (last == H1Event::end) co_return last;
    co_return plain(Reason::upstream_broken, "the origin closed before its response was complete");
  }
}

// 100, 102, 103: passed on as they come; a client of HTTP/1.0 does not know them.
Task<std::optional<Refusal>> pass_interim(Exchange& exchange) {
  ResponseHead interim = exchange.upstream().parser().response();
  if (interim.status == 101) co_return plain(Reason::upstream_broken, "the origin switched protocols unasked");
  exchange.origin_spoke = true;
  auto ended = co_await next_event(exchange);
  if (auto* refusal = std::get_if<Refusal>(&ended)) co_return *refusal;
  exchange.upstream().parser().begin_response(exchange.head.method);
  if (exchange.client_minor == 0) co_return std::nullopt;
  const ResponsePlan plan = prepare_response(interim, Framing(), exchange.session.secrets->mask_set(), 1,
                                             AfterThis::keep_open);
  std::string out;
  if (!plan.is_well_formed || !write_head(out, interim)) {
    co_return plain(Reason::upstream_broken, "an interim response is malformed");
  }
  auto sent = co_await exchange.connection.stream.write_all(out);
  if (!sent) co_return plain(Reason::client_broken);
  co_return std::nullopt;
}

// Where a secret is in play, what cannot be searched does not pass.
std::optional<Refusal> unmaskable(const Exchange& exchange, const ResponseHead& head) {
  const bool here = !exchange.swap.uses.empty();
  if (here && head.status == 206) {
    return plain(Reason::response_unmaskable, "the origin sent a part (206) that nobody asked for");
  }
  if (!is_coded(head)) return std::nullopt;
  if (!here && !exchange.session.was_secret_sent_to(*exchange.authority)) return std::nullopt;
  return plain(Reason::response_unmaskable,
               "the origin sent a content coding although identity was asked for");
}

// Puts body pieces into the framing of the answer, one write behind: the last piece leaves together with the end.
class BodyWriter {
 public:
  BodyWriter(Exchange& exchange, Delivery delivery, std::string head)
      : exchange_(exchange), delivery_(delivery), out_(std::move(head)) {}

  // `piece` must stay valid until the next call.
  void hold(std::string_view piece) { held_ = piece; }
  Task<bool> flush() {
    // A body of known length goes out from where it lies; the rest is small or needs framing around it.
    if (delivery_ == Delivery::chunked || !out_.empty()) {
      add(std::exchange(held_, {}));
      if (out_.empty()) co_return true;
      auto sent = co_await exchange_.connection.stream.write_all(out_);
      out_.clear();
      co_return static_cast<bool>(sent);
    }
    const std::string_view piece = std::exchange(held_, {});
    if (piece.empty()) co_return true;
    exchange_.receipt.bytes_down += piece.size();
    auto sent = co_await exchange_.connection.stream.write_all(piece);
    co_return static_cast<bool>(sent);
  }
  // The last bytes, the end and whatever is still held, for one flush(). False: the trailers cannot be written.
  bool add_end(std::string_view rest, const HeaderList& trailers) {
    add(std::exchange(held_, {}));
    add(rest);
    return delivery_ != Delivery::chunked || write_last_chunk(out_, trailers);
  }

 private:
  void add(std::string_view piece) {
    exchange_.receipt.bytes_down += piece.size();
    if (delivery_ == Delivery::chunked) write_chunk(out_, piece);
    else out_ += piece;
  }

  Exchange& exchange_;
  const Delivery delivery_;
  std::string out_;
  std::string_view held_;
};

void note_masked(Exchange& exchange, const Masker& masker) {
  const auto& names = exchange.session.secrets->mask_set().names();
  for (const Masker::Count& count : masker.counts()) {
    exchange.receipt.masked.push_back(
        {names[count.secret], "body", std::string(count.encoding), count.count});
  }
}

// The client's going away, which an answer that is all there survives.
bool is_absence(Reason reason) { return reason == Reason::client_broken || reason == Reason::client_timeout; }

Task<std::optional<Refusal>> relay_body(Exchange& exchange, BodyWriter writer, bool coded) {
  const MaskSet& masks = exchange.session.secrets->mask_set();
  std::optional<Masker> masker;
  // A coded body that got this far comes from where no secret was ever sent.
  if (!masks.empty() && !coded) masker.emplace(masks);
  std::string scratch;
  Upstream& origin = exchange.upstream();
  for (;;) {
    std::string_view in = origin.input().view();
    H1Event event = origin.parser().next(in);
    origin.input().keep(in);
    if (event == H1Event::need_more) {
      if (!co_await writer.flush()) co_return plain(Reason::client_broken);
      auto read = co_await next_event(exchange);
      if (auto* refusal = std::get_if<Refusal>(&read)) co_return *refusal;
      event = std::get<H1Event>(read);
    }
    if (event == H1Event::body) {
      if (!co_await writer.flush()) co_return plain(Reason::client_broken);
      std::string_view piece = origin.parser().body();
      writer.hold(masker ? masker->feed(piece, scratch) : piece);
      continue;
    }
    if (event != H1Event::end) co_return plain(Reason::upstream_broken, "the response is malformed");
    std::string rest;
    std::string_view last;
    if (masker) {
      last = masker->finish(rest);  // what was held back can no longer become a match
      note_masked(exchange, *masker);
    }
    HeaderList& trailers = origin.parser().trailers();
    mask_fields(trailers, masks, "trailer:", exchange.receipt.masked);
    if (!writer.add_end(last, trailers)) co_return plain(Reason::upstream_broken, "the trailers are malformed");
    // Whatever the origin made of its beginning: a request that ended in a tripwire has no clean answer.
    if (exchange.upload.failed && !is_absence(exchange.upload.failed->reason)) co_return *exchange.upload.failed;
    if (!exchange.close_receipt(Reason::none, exchange.receipt.status)) {
      co_return plain(Reason::audit_unavailable);
    }
    if (!co_await writer.flush()) co_return plain(Reason::client_broken);
    co_return std::nullopt;
  }
}

}  // namespace

void limit_silence(Exchange& exchange) {
  Stream& origin = exchange.upstream().stream();
  const UpstreamConfig& limits = exchange.gateway.upstream;
  if (exchange.upload.running) origin.end_reads_at(SteadyTime::max());
  else if (exchange.answered) origin.limit_reads(limits.idle_timeout);
  else origin.end_reads_at(std::chrono::steady_clock::now() + limits.response_timeout);
}

Task<std::optional<Refusal>> await_response(Exchange& exchange) {
  Upstream& origin = exchange.upstream();
  origin.parser().begin_response(exchange.head.method);
  for (;;) {
    limit_silence(exchange);
    auto read = co_await next_event(exchange);
    if (auto* refusal = std::get_if<Refusal>(&read)) co_return *refusal;
    if (std::get<H1Event>(read) != H1Event::head) co_return plain(Reason::upstream_broken);
    if (origin.parser().response().status >= 200) break;
    auto refused = co_await pass_interim(exchange);
    if (refused) co_return refused;
  }
  exchange.receipt.first_byte = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - exchange.began);
  co_return std::nullopt;
}

Task<std::optional<Refusal>> relay_response(Exchange& exchange) {
  Upstream& origin = exchange.upstream();
  ResponseHead& head = origin.parser().response();
  if (auto refused = unmaskable(exchange, head)) co_return refused;
  const bool coded = is_coded(head);
  // An answer that overtakes its request may mean that the rest of it never comes.
  if (!exchange.is_request_done()) exchange.client_keeps_alive = false;
  const AfterThis after =
      exchange.client_keeps_alive ? AfterThis::keep_open : AfterThis::close;
  ResponsePlan plan = prepare_response(head, origin.parser().framing(),
                                       exchange.session.secrets->mask_set(), exchange.client_minor, after);
  exchange.receipt.status = head.status;
  exchange.receipt.masked = std::move(plan.masked);
  std::string out;
  if (!plan.is_well_formed || !write_head(out, head)) {
    co_return plain(Reason::upstream_broken, "the response head is malformed");
  }
  if (plan.delivery == Delivery::until_close) exchange.client_keeps_alive = false;
  exchange.answered = true;
  limit_silence(exchange);
  exchange.connection.stream.limit_writes(exchange.gateway.limits.client_idle);
  BodyWriter writer(exchange, plan.delivery, std::move(out));
  co_return co_await relay_body(exchange, std::move(writer), coded);
}

}  // namespace warder
