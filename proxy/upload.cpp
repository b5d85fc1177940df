// The request body on its way up: re-framed, watched for placeholders, never swapped.
#include <algorithm>

#include "http/h1_writer.hpp"
#include "proxy/exchange.hpp"

namespace warder {
namespace {

Refusal tripped(const Exchange& exchange, const BodyTripwire& tripwire) {
  Refusal refusal;
  refusal.reason = tripwire.reason();
  if (refusal.reason == Reason::placeholder_wrong_place) {
    const auto grants = exchange.session.secrets->grants_for(exchange.authority->host);
    const auto names_it = [&](const Grant* grant) { return grant->secret == tripwire.secret(); };
    if (std::none_of(grants.begin(), grants.end(), names_it)) refusal.reason = Reason::placeholder_wrong_host;
  }
  refusal.detail = "a placeholder of secret " + tripwire.secret() + " stands in the request body";
  return refusal;
}

Refusal plain(Reason reason) {
  Refusal refusal;
  refusal.reason = reason;
  return refusal;
}

// Aborts the upstream, so that a body that broke off is never taken for a whole one.
void fail(Exchange& exchange, Refusal refusal) {
  exchange.upload.failed = std::move(refusal);
  exchange.upstream().stream().abort();
}

struct BodySender {
  Exchange& exchange;
  BodyTripwire tripwire;
  std::string held;   // what the tripwire lets go of
  std::string frame;  // chunked framing around it

  Task<bool> send(std::string_view piece) {
    if (piece.empty()) co_return true;
    exchange.receipt.bytes_up += piece.size();
    if (exchange.framing.kind == Framing::Kind::chunked) {
      frame.clear();
      write_chunk(frame, piece);
      piece = frame;
    }
    auto sent = co_await exchange.upstream().stream().write_all(piece);
    co_return static_cast<bool>(sent);
  }
  Task<bool> send_end(const HeaderList& trailers) {
    std::string_view rest = tripwire.finish(held);
    if (!co_await send(rest)) co_return false;
    if (exchange.framing.kind != Framing::Kind::chunked) co_return true;
    frame.clear();
    if (!write_last_chunk(frame, trailers)) {
      fail(exchange, plain(Reason::malformed_request));
      co_return false;
    }
    auto sent = co_await exchange.upstream().stream().write_all(frame);
    co_return static_cast<bool>(sent);
  }
};

Task<> pump(Exchange& exchange) {
  Connection& client = exchange.connection;
  BodySender sender{exchange, BodyTripwire(*exchange.session.secrets), {}, {}};
  client.stream.limit_reads(exchange.gateway.limits.client_idle);
  while (!exchange.upload.stopping) {
    std::string_view in = client.input.view();
    const H1Event event = client.parser.next(in);
    client.input.keep(in);
    switch (event) {
      case H1Event::need_more: {
        auto filled = co_await client.input.fill(client.stream);
        if (filled) break;
        if (exchange.upload.stopping) co_return;
        const bool late = filled.error() == IoError::timed_out;
        fail(exchange, plain(late ? Reason::client_timeout : Reason::client_broken));
        co_return;
      }
      case H1Event::body: {
        std::string_view piece = sender.tripwire.feed(client.parser.body(), sender.held);
        if (sender.tripwire.hit()) {
          fail(exchange, tripped(exchange, sender.tripwire));
          co_return;
        }
        // The origin no longer takes it: it may have answered already, and the download will see.
        if (!co_await sender.send(piece)) co_return;
        break;
      }
      case H1Event::end: {
        auto looked = check_trailers(client.parser.trailers(), *exchange.session.secrets);
        if (auto* refused = std::get_if<SwapRefusal>(&looked)) {
          Refusal refusal = plain(refused->reason);
          refusal.detail = "a placeholder stands in a trailer";
          fail(exchange, std::move(refusal));
          co_return;
        }
        exchange.upload.complete = co_await sender.send_end(client.parser.trailers());
        co_return;
      }
      default: fail(exchange, plain(Reason::malformed_request)); co_return;
    }
  }
}

}  // namespace

Task<> run_upload(Exchange& exchange) {
  co_await pump(exchange);
  exchange.upload.running = false;
  limit_silence(exchange);
  exchange.upload.finished.cancel();
}

Task<> stop_upload(Exchange& exchange) {
  if (!exchange.upload.running) co_return;
  exchange.upload.stopping = true;
  exchange.connection.stream.interrupt_read();
  exchange.upstream().stream().close();
  while (exchange.upload.running) (void)co_await exchange.upload.finished.async_wait(as_result);
}

}  // namespace warder
