// A WebSocket after its 101: frames both ways at once, until each side has said Close or one of them breaks off.
#include <algorithm>
#include <array>

#include "base/random.hpp"
#include "proxy/exchange.hpp"
#include "proxy/metering.hpp"
#include "proxy/ws_flow.hpp"

namespace warder {
namespace {

// RFC 6455 section 7.4.1. 0: no Close frame, the end must not look clean.
enum class CloseCode : std::uint16_t {
  none = 0,
  going_away = 1001,
  protocol = 1002,
  policy = 1008
};

struct WsFailure {
  Refusal refusal;
  CloseCode code = CloseCode::none;
};

Refusal plain(Reason reason, std::string detail = {}) {
  Refusal refusal;
  refusal.reason = reason;
  refusal.detail = std::move(detail);
  return refusal;
}

// What the two directions share. The way up runs as exchange.upload, the way down in relay_websocket() itself.
struct WebSocket {
  WebSocket(Exchange& of, RawLeg sandbox, RawLeg server)
      : exchange(of),
        client(sandbox),
        origin(server),
        tripwire(*of.secrets, of.body),
        mask(FollowedMask(of.session.secrets), holding_for(of)) {}
  WebSocket(const WebSocket&) = delete;

  Exchange& exchange;
  RawLeg client;
  RawLeg origin;
  WsTripwire tripwire;
  WsMask mask;
  WsFlow up{WsParser::Sender::client, tripwire};
  WsFlow down{WsParser::Sender::server, mask};
  bool client_closed = false;  // its Close frame has been passed on
  bool origin_closed = false;
  bool up_is_whole = true;  // what was written to the origin ends where a frame ends
  bool down_is_whole = true;
  std::optional<WsFailure> failed;  // the first thing that went wrong
};

// A byte came from somewhere: both sides may be silent anew.
void limit_ws_silence(WebSocket& ws) {
  const GatewayLimits& limits = ws.exchange.gateway.limits;
  const bool ending = ws.client_closed || ws.origin_closed;
  const auto limit = ending ? limits.websocket_close : limits.websocket_idle;
  ws.client.stream.limit_reads(limit);
  if (!ws.exchange.word_waits) ws.origin.stream.limit_reads(limit);
}

void fail(WebSocket& ws, Refusal refusal, CloseCode code) {
  if (!ws.failed) ws.failed = WsFailure{std::move(refusal), code};
}

// Ends what the other direction waits for, with both streams left open for a Close frame.
void stop_down(WebSocket& ws) {
  ws.origin.stream.interrupt_read();
  ws.client.stream.limit_writes(SteadyDuration::zero());
}
void stop_up(WebSocket& ws) {
  ws.client.stream.interrupt_read();
  ws.origin.stream.limit_writes(SteadyDuration::zero());
}

// A gateway that drained for as long as it would: both sides hear that it goes.
class EndsWithGrace final : public Swept {
 public:
  EndsWithGrace(WebSocket& ws, Worker& worker)
      : ws_(ws), worker_(worker), place_(worker.enlist(*this)) {}
  EndsWithGrace(const EndsWithGrace&) = delete;
  ~EndsWithGrace() override { worker_.delist(place_); }
  void on_sweep(SteadyTime) override {
    if (ws_.failed || ws_.exchange.session.life != Life::leaving) return;
    fail(ws_, plain(Reason::session_ended, "the gateway is ending"), CloseCode::going_away);
    stop_up(ws_);
    stop_down(ws_);
  }
  void close() override {}

 private:
  WebSocket& ws_;
  Worker& worker_;
  const Worker::Place place_;
};

void note_progress(WebSocket& ws) {
  ws.exchange.receipt.bytes_up = ws.up.payload_bytes();
  ws.exchange.receipt.bytes_down = ws.down.payload_bytes();
}

void note_mask(WebSocket& ws) {
  std::string unsent;
  (void)ws.mask.finish(unsent);
  note_masked(ws.exchange, ws.mask.take_counts(), "ws");
}

// One side's Close frame is about to leave. The second one is the clean end, which is recorded before it leaves.
bool may_close(WebSocket& ws, bool& this_side) {
  this_side = true;
  if (!ws.client_closed || !ws.origin_closed) return true;
  note_mask(ws);
  note_progress(ws);
  if (ws.exchange.close_receipt(Reason::none, 101)) return true;
  fail(ws, plain(Reason::audit_unavailable), CloseCode::none);
  return false;
}

// False: a limit stands in the way of these bytes, and the other way is over already or will be told.
Task<bool> pay_for(WebSocket& ws, Meter::Way way, std::size_t bytes) {
  auto is_over = [&ws] {
    return ws.failed || ws.exchange.ended || !ws.client.stream.is_open() ||
           !ws.origin.stream.is_open() || ws.client.stream.peer_gone() ||
           ws.exchange.session.life == Life::ended;
  };
  auto refused = co_await pay(ws.exchange.connection, way, bytes, std::move(is_over));
  if (!refused) co_return true;
  fail(ws, std::move(*refused), CloseCode::policy);
  co_return false;
}

// Takes the bytes along: a WebSocket that is idle should cost its sockets, not a buffer.
Task<Result<>> write_up(WebSocket& ws, std::string frames) {
  ws.up_is_whole = false;
  auto sent = co_await ws.origin.stream.write_all(frames);
  if (!sent) co_return sent;
  ws.up_is_whole = ws.up.is_at_border();
  ws.exchange.receipt.bytes_up = ws.up.payload_bytes();
  co_return sent;
}

Task<bool> write_down(WebSocket& ws, std::string frames) {
  ws.down_is_whole = false;
  auto sent = co_await ws.client.stream.write_all(frames);
  if (!sent) {
    fail(ws, plain(Reason::client_broken), CloseCode::none);
    co_return false;
  }
  ws.down_is_whole = ws.down.is_at_border();
  ws.exchange.receipt.bytes_down = ws.down.payload_bytes();
  co_return true;
}

std::string how_malformed(std::string_view whose, const WsFlow& flow) {
  return "a WebSocket frame of " + std::string(whose) +
         " is malformed: " + std::string(to_string(flow.error()));
}

// Client → origin.
Task<> pump_up(WebSocket& ws) {
  for (;;) {
    std::string out;
    std::string_view in = ws.client.input.view();
    const WsFlow::Outcome outcome = ws.up.pass(in, out);
    ws.client.input.keep(in);
    if (outcome == WsFlow::Outcome::hit) {
      ws.exchange.origin->abort();
      Refusal refusal = tripped(ws.exchange, *ws.tripwire.refusal(), "a WebSocket message");
      fail(ws, std::move(refusal), CloseCode::policy);
      co_return;
    }
    note_swapped(ws.exchange, ws.tripwire.take_counts());
    const bool closes = outcome == WsFlow::Outcome::closed;
    if (closes && !may_close(ws, ws.client_closed)) co_return;
    if (!co_await pay_for(ws, Meter::Way::up, out.size())) co_return;
    auto sent = co_await write_up(ws, std::move(out));
    if (!sent) {
      // The origin no longer takes it: it may have said Close already, and the way down will see.
      if (sent.error() == IoError::timed_out)
        fail(ws, plain(Reason::upstream_timeout), CloseCode::none);
      co_return;
    }
    if (outcome == WsFlow::Outcome::malformed) {
      Refusal refusal = plain(Reason::malformed_request, how_malformed("the client", ws.up));
      fail(ws, std::move(refusal), CloseCode::protocol);
    }
    if (outcome == WsFlow::Outcome::unfit) fail(ws, plain(Reason::internal), CloseCode::none);
    limit_ws_silence(ws);
    if (closes || ws.failed) co_return;
    auto filled = co_await ws.client.input.fill(ws.client.stream);
    if (filled) continue;
    if (ws.origin_closed) co_return;  // nothing is lost: it was told
    if (filled.error() == IoError::timed_out)
      fail(ws, plain(Reason::upstream_timeout, "no frame came either way"), CloseCode::going_away);
    else
      fail(ws, plain(Reason::client_broken), CloseCode::none);
    co_return;
  }
}

Task<> run_up(WebSocket& ws) {
  co_await pump_up(ws);
  if (ws.failed) stop_down(ws);
  ws.exchange.upload.running = false;
  ws.exchange.upload.finished.cancel();
}

// More from the origin. The word that a message so far ends in leaves when nothing follows it for a moment.
Task<Result<>> fill_from_origin(WebSocket& ws) {
  Input& input = ws.origin.input;
  if (ws.mask.holds_a_word() && ws.down.is_between_frames()) {
    ws.exchange.word_waits = true;
    ws.origin.stream.limit_reads(kWordWait);
    auto filled = co_await input.fill(ws.origin.stream);
    ws.exchange.word_waits = false;
    limit_ws_silence(ws);
    if (filled || filled.error() != IoError::timed_out || ws.failed) co_return filled;
    std::string out;
    ws.down.release(out);
    if (!co_await write_down(ws, std::move(out))) co_return IoError::closed;
    if (ws.failed) co_return IoError::closed;
  }
  co_return co_await input.fill(ws.origin.stream);
}

// Origin → client.
Task<> pump_down(WebSocket& ws) {
  for (;;) {
    std::string out;
    std::string_view in = ws.origin.input.view();
    const WsFlow::Outcome outcome = ws.down.pass(in, out);
    ws.origin.input.keep(in);
    const bool closes = outcome == WsFlow::Outcome::closed;
    if (closes && !may_close(ws, ws.origin_closed)) co_return;
    if (!co_await pay_for(ws, Meter::Way::down, out.size())) co_return;
    if (!co_await write_down(ws, std::move(out))) co_return;
    if (outcome == WsFlow::Outcome::malformed) {
      Refusal refusal = plain(Reason::upstream_broken, how_malformed("the origin", ws.down));
      fail(ws, std::move(refusal), CloseCode::protocol);
    }
    if (outcome == WsFlow::Outcome::unfit) {
      Refusal refusal = plain(Reason::response_unmaskable,
                              "a control frame has no room for the placeholder of a value");
      fail(ws, std::move(refusal), CloseCode::policy);
    }
    limit_ws_silence(ws);
    if (closes || ws.failed) co_return;
    auto filled = co_await fill_from_origin(ws);
    if (filled) continue;
    const bool silent = filled.error() == IoError::timed_out;
    if (silent && ws.client_closed)
      fail(ws, plain(Reason::upstream_timeout, "the origin did not answer a Close"),
           CloseCode::none);
    else if (silent)
      fail(ws, plain(Reason::upstream_timeout, "no frame came either way"), CloseCode::going_away);
    else if (filled.error() == IoError::closed)  // by us: the session ends
      fail(ws, plain(Reason::client_broken), CloseCode::none);
    else
      fail(ws, plain(Reason::upstream_broken, "the origin closed without a Close frame"),
           CloseCode::none);
    co_return;
  }
}

// Each side that stands between two frames is told; the other one is cut off.
Task<> say_close(WebSocket& ws, CloseCode with) {
  const auto code = static_cast<std::uint16_t>(with);
  const GatewayLimits& limits = ws.exchange.gateway.limits;
  ws.exchange.said_close = ws.origin_closed;
  if (ws.down_is_whole && !ws.origin_closed) {
    const std::string frame = ws_close(code, to_string(ws.failed->refusal.reason), std::nullopt);
    ws.client.stream.limit_writes(limits.linger);
    auto sent = co_await ws.client.stream.write_all(frame);
    ws.exchange.said_close = static_cast<bool>(sent);
  }
  if (ws.up_is_whole && !ws.client_closed && ws.origin.stream.is_open()) {
    std::array<std::uint8_t, 4> random{};
    SystemRandom().fill(random);
    WsKey key{};
    std::copy(random.begin(), random.end(), key.begin());
    const std::string frame = ws_close(code, {}, key);
    ws.origin.stream.limit_writes(limits.linger);
    auto sent = co_await ws.origin.stream.write_all(frame);
    if (!sent) co_return;
    co_await linger(ws.origin.stream, limits);
    ws.exchange.origin.reset();  // as it is, not aborted
  }
}

Task<std::optional<Refusal>> run_both_ways(WebSocket& ws) {
  Exchange& exchange = ws.exchange;
  std::optional<EndsWithGrace> grace(std::in_place, ws, exchange.connection.worker);
  limit_ws_silence(ws);
  exchange.upload.running = true;
  auto up = run_up(ws);
  exchange.connection.worker.spawn(std::move(up));
  co_await pump_down(ws);
  if (ws.failed) stop_up(ws);
  while (exchange.upload.running) (void)co_await exchange.upload.finished.async_wait(as_result);
  grace.reset();

  note_mask(ws);
  if (exchange.ended) ws.failed = WsFailure{plain(*exchange.ended), CloseCode::policy};
  if (ws.failed) {
    if (ws.failed->code != CloseCode::none) co_await say_close(ws, ws.failed->code);
    co_return std::move(ws.failed->refusal);
  }
  if (!exchange.close_receipt(Reason::none, 101)) co_return plain(Reason::audit_unavailable);
  ws.origin.stream.shutdown_write();
  co_return std::nullopt;
}

}  // namespace

Task<std::optional<Refusal>> relay_websocket(Exchange& exchange) {
  ResponseHead& head = exchange.origin->head();
  std::string fault = ws_answer_fault(head, *exchange.websocket);
  if (!fault.empty()) co_return plain(Reason::upstream_broken, std::move(fault));
  const auto client = exchange.client.hand_over();
  const auto origin = exchange.origin->hand_over();
  if (!client || !origin) co_return plain(Reason::internal);

  const FollowedMask masks(exchange.session.secrets);
  ResponsePlan plan =
      prepare_response(head, Framing(), masks.set(), exchange.client_version, AfterThis::keep_open);
  confirm_ws_upgrade(head);
  exchange.receipt.status = head.status;
  exchange.receipt.masked = std::move(plan.masked);
  if (!plan.is_well_formed || !exchange.client.begin_answer(head, Delivery::none)) {
    co_return plain(Reason::upstream_broken, "the response head is malformed");
  }
  exchange.client_keeps_alive = false;
  exchange.answered = true;
  if (!co_await exchange.client.flush()) co_return plain(Reason::client_broken);
  exchange.client.watch(nullptr);  // it is read from now on
  WebSocket ws(exchange, *client, *origin);
  co_return co_await run_both_ways(ws);
}

}  // namespace warder
