#include "proxy/raw_relay.hpp"

#include <boost/asio/post.hpp>

#include "http/client_hello.hpp"
#include "proxy/dial.hpp"
#include "proxy/metering.hpp"
#include "proxy/record.hpp"
#include "proxy/still_allowed.hpp"

namespace warder {
namespace {

// One direction: what `from` says, `to` hears.
struct Way {
  Way(Stream& source, Input& buffer, Stream& sink, Reason source_broke, Reason sink_broke)
      : from(source), input(buffer), to(sink), broken_from(source_broke), broken_to(sink_broke) {}
  Way(const Way&) = delete;

  Stream& from;
  Input& input;
  Stream& to;
  Reason broken_from;
  Reason broken_to;
  std::uint64_t bytes = 0;
  enum class End : std::uint8_t { none, clean, broken };
  End end = End::none;
};

std::string side_of(Reason reason) {
  switch (reason) {
    case Reason::none: return "";
    case Reason::client_broken:
    case Reason::client_timeout:
    case Reason::malformed_request:
    case Reason::authority_mismatch: return "client";
    case Reason::audit_unavailable:
    case Reason::limit_exceeded:
    case Reason::session_ended:
    case Reason::quarantined:
    case Reason::policy_changed:
    case Reason::internal: return "warder";
    default: return "upstream";
  }
}

// One raw connection: the state that serve_raw() and its steps share.
struct RawExchange {
  RawExchange(Connection& of, Authority to, Verdict by)
      : connection(of),
        gateway(of.gateway),
        authority(std::move(to)),
        verdict(std::move(by)),
        finished(of.worker.loop(), SteadyTime::max()) {
    receipt.session = of.session->id;
    receipt.exchange = ++of.session->exchanges;
  }
  RawExchange(const RawExchange&) = delete;
  // Whatever way it ends, what was let through leaves a receipt: also when the loop ends under it.
  ~RawExchange() { close_receipt(Reason::session_ended); }

  const char* protocol() const { return verdict.handling == Handling::tunnel ? "tunnel" : "tcp"; }
  std::string where() const { return authority.host_port(); }

  // False: it could not be written, and the connection must not look complete.
  bool close_receipt(Reason how) {
    if (!receipt_due) return true;
    receipt_due = false;
    if (how == Reason::client_broken && connection.session->quarantined) how = Reason::quarantined;
    receipt.reason = how;
    receipt.side = side_of(how);
    if (up) receipt.bytes_up = up->bytes;
    if (down) receipt.bytes_down = down->bytes;
    receipt.total = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - began);
    return gateway.audit.append_receipt(receipt);
  }

  Connection& connection;
  Gateway& gateway;
  const Authority authority;
  const Verdict verdict;
  const SteadyTime began = std::chrono::steady_clock::now();
  audit::Receipt receipt;
  bool receipt_due = false;

  std::unique_ptr<Stream> origin;
  Input from_origin;
  std::optional<Way> up;
  std::optional<Way> down;
  SteadyTime last_byte = began;  // in either direction
  Reason broken = Reason::none;  // why it did not end cleanly: the first reason that was seen
  bool is_up_running = false;
  asio::steady_timer finished;  // cancelled when is_up_running turns false
};

audit::Intent intent_of(const RawExchange& raw, std::string decision) {
  audit::Intent intent;
  intent.session = raw.receipt.session;
  intent.exchange = raw.receipt.exchange;
  intent.ingress = raw.connection.ingress;
  intent.protocol = raw.protocol();
  intent.authority = "tcp://" + raw.where();
  intent.decision = std::move(decision);
  intent.rule = raw.verdict.rule;
  intent.where = raw.verdict.where;
  return intent;
}

void remember_denial(RawExchange& raw, Reason reason, const std::string& detail,
                     const std::string& suggestion) {
  const std::string what = std::string(raw.protocol()) + " connection to " + raw.where() +
                           (detail.empty() ? "" : ": " + detail);
  raw.connection.session->denials.add(reason, what, suggestion);
}

// Before a byte has left: a denial; or, where it was recorded as allowed and dialled already, how that ended.
Task<> refuse_raw(RawExchange& raw, Reason reason, std::string detail, std::string suggestion) {
  if (reason != Reason::client_broken && reason != Reason::session_ended)
    remember_denial(raw, reason, detail, suggestion);
  if (raw.receipt_due) {
    raw.close_receipt(reason);
    co_return;
  }
  audit::Intent intent = intent_of(raw, "deny");
  intent.reason = reason;
  audit::Record entry(std::move(intent));
  // A refusal that cannot be recorded is still a refusal.
  (void)co_await record(raw.gateway.audit, std::move(entry), audit::Durability::accepted, 0);
}

// The only word that a TLS client understands: another name than the connection stands for.
Task<> send_unrecognized_name(Connection& connection) {
  static constexpr std::string_view kAlert{"\x15\x03\x03\x00\x02\x02\x70",
                                           7};  // RFC 8446 section 6
  connection.stream.limit_writes(connection.gateway.limits.linger);
  auto sent = co_await connection.stream.write_all(kAlert);
  if (sent) co_await linger(connection.stream, connection.gateway.limits);
}

// A tunnel begins with a ClientHello, and for the host that was allowed. False: it does not, which is recorded.
Task<bool> await_hello(RawExchange& raw) {
  Connection& connection = raw.connection;
  connection.stream.end_reads_at(std::chrono::steady_clock::now() +
                                 connection.gateway.limits.handshake);
  ClientHello hello = parse_client_hello(connection.input.view());
  while (hello.state == ClientHello::State::incomplete) {
    auto filled = co_await connection.input.fill(connection.stream);
    if (!filled) {
      Reason why = Reason::client_broken;
      if (filled.error() == IoError::timed_out) why = Reason::client_timeout;
      if (filled.error() == IoError::closed) why = Reason::session_ended;
      co_await refuse_raw(raw, why, "no TLS hello came", "");
      co_return false;
    }
    hello = parse_client_hello(connection.input.view());
  }
  if (hello.state == ClientHello::State::broken) {
    co_await refuse_raw(raw, Reason::malformed_request, "it does not begin with a TLS hello",
                        "a rule with action: tcp, for what is not TLS from its first byte");
    co_return false;
  }
  // Without a name there is nothing that could differ: the rule allowed what the connection itself stands for.
  if (!hello.server_name) co_return true;
  const auto named = HostName::parse(*hello.server_name);
  if (named && *named == raw.authority.host) co_return true;
  std::string detail = "the TLS hello names " + (named ? named->str() : "no host");
  co_await refuse_raw(raw, Reason::authority_mismatch, std::move(detail), "");
  co_await send_unrecognized_name(connection);
  co_return false;
}

// No record, no egress.
Task<bool> record_intent(RawExchange& raw) {
  audit::Record entry(intent_of(raw, "allow"));
  auto sequence =
      co_await record(raw.gateway.audit, std::move(entry), audit::Durability::accepted, 1);
  if (!sequence) {
    remember_denial(raw, Reason::audit_unavailable, "", "");
    co_return false;
  }
  raw.receipt.intent_seq = *sequence;
  raw.receipt_due = true;
  co_return true;
}

Task<std::optional<DialFailure>> reach(RawExchange& raw) {
  Connection& connection = raw.connection;
  const SteadyTime began = std::chrono::steady_clock::now();
  const auto allowed =
      raw.verdict.allow_private ? PrivateAddresses::allowed : PrivateAddresses::refused;
  auto dialled = co_await dial(connection.worker, connection.gateway, raw.authority, allowed,
                               connection.session->life);
  if (auto* failure = std::get_if<DialFailure>(&dialled)) {
    remember_denial(raw, failure->reason, failure->detail, "");
    raw.close_receipt(failure->reason);
    co_return std::move(*failure);
  }
  raw.origin = std::move(std::get<std::unique_ptr<Stream>>(dialled));
  if (!connection.stream.is_open()) {
    raw.close_receipt(Reason::session_ended);
    co_return DialFailure{Reason::session_ended, ""};
  }
  error_code ignored;
  const auto peer = raw.origin->socket().remote_endpoint(ignored);
  raw.receipt.upstream = peer.address().to_string() + ":" + std::to_string(peer.port());
  raw.receipt.connect = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - began);
  co_return std::nullopt;
}

bool is_tunnel(const RawExchange& raw) { return raw.verdict.handling == Handling::tunnel; }

// Nobody waits for a word: a tunnel is dialled when its hello was read.
Task<bool> open_unasked(RawExchange& raw) {
  if (!raw.verdict.allows()) {
    co_await refuse_raw(raw, raw.verdict.reason, "", raw.verdict.suggestion);
    co_return false;
  }
  if (const auto exceeded = admit_raw(raw.connection)) {
    co_await refuse_raw(raw, Reason::limit_exceeded, exceeded->name(), "");
    co_return false;
  }
  if (is_tunnel(raw) && !co_await await_hello(raw)) co_return false;
  if (!co_await record_intent(raw)) co_return false;
  const auto failure = co_await reach(raw);
  co_return !failure;
}

Refusal refusal_of(const Verdict& verdict) {
  return {verdict.reason, "", verdict.rule, verdict.suggestion, verdict.where};
}

// A proxy's client says nothing before it has its answer, and can be told what is wrong: dialled first.
Task<bool> open_asked(RawExchange& raw, TunnelAnswer& asked) {
  Refusal refusal = refusal_of(raw.verdict);
  if (!raw.verdict.allows()) {
    co_await refuse_raw(raw, refusal.reason, "", refusal.suggestion);
    co_await asked.refuse(std::move(refusal));
    co_return false;
  }
  if (const auto exceeded = admit_raw(raw.connection)) {
    co_await refuse_raw(raw, Reason::limit_exceeded, exceeded->name(), "");
    co_await asked.refuse(refusal_of(*exceeded));
    co_return false;
  }
  if (!co_await record_intent(raw)) {
    refusal.reason = Reason::audit_unavailable;
    co_await asked.refuse(std::move(refusal));
    co_return false;
  }
  auto failure = co_await reach(raw);
  if (failure) {
    co_await asked.unreachable(std::move(*failure));
    co_return false;
  }
  const bool told = co_await asked.open();
  if (!told) raw.close_receipt(Reason::client_broken);
  if (told && is_tunnel(raw)) co_return co_await await_hello(raw);
  co_return told;
}

// Is `error` of a wait no end, because the other direction was alive meanwhile? Then the wait begins anew.
bool may_wait_on(RawExchange& raw, Way& way, error_code error) {
  if (error != IoError::timed_out) return false;
  const SteadyDuration limit = raw.gateway.limits.raw_idle;
  const SteadyDuration left = raw.last_byte + limit - std::chrono::steady_clock::now();
  if (left <= SteadyDuration::zero()) return false;
  way.from.limit_reads(left);
  way.to.limit_writes(left);
  return true;
}

void note_broken(RawExchange& raw, error_code error, Reason otherwise) {
  if (raw.broken != Reason::none) return;
  if (error == IoError::closed) {
    raw.broken = Reason::session_ended;  // the worker stops
  } else {
    raw.broken = error == IoError::timed_out ? Reason::upstream_timeout : otherwise;
  }
}

// What was read leaves; counted as it does. An error: `to` cannot be written any more.
Task<Result<>> pass_on(RawExchange& raw, Way& way) {
  while (!way.input.empty()) {
    const int n = way.to.try_write(way.input.view());
    if (n > 0) {
      way.bytes += static_cast<std::uint64_t>(n);
      way.input.keep(way.input.view().substr(static_cast<std::size_t>(n)));
      raw.last_byte = std::chrono::steady_clock::now();
      continue;
    }
    error_code error = way.to.write_error();
    if (n != Stream::kEnded) {
      auto ready = co_await way.to.wait_to_write(n);
      if (ready || may_wait_on(raw, way, ready.error())) continue;
      error = ready.error();
    }
    note_broken(raw, error, way.broken_to);
    way.end = Way::End::broken;
    co_return error;
  }
  co_return Result<>();
}

// What was read waits for its turn, or a limit stands in its way.
Task<bool> may_pass(RawExchange& raw, Way& way) {
  auto is_over = [&raw, &way] {
    return !way.from.is_open() || !way.to.is_open() || way.to.peer_gone() ||
           raw.connection.session->life == Life::ended;
  };
  const auto direction = &way == &*raw.up ? Meter::Way::up : Meter::Way::down;
  auto refused =
      co_await pay(raw.connection, direction, way.input.view().size(), std::move(is_over));
  raw.last_byte = std::chrono::steady_clock::now();
  if (!refused) co_return true;
  raw.connection.session->denials.add(refused->reason, refused->limit, "");
  if (raw.broken == Reason::none) raw.broken = refused->reason;
  way.end = Way::End::broken;
  co_return false;
}

// The origin takes no more, but may have said something before: that is still passed on, and meanwhile a client that
// sends must not be stuck.
Task<> drop_rest(RawExchange& raw) {
  auto scrap = std::make_unique_for_overwrite<char[]>(Input::kBytes);
  while (raw.down->end == Way::End::none) {
    // Between two reads that need not wait the other way, and the worker's other connections, have their turn.
    co_await asio::post(raw.connection.worker.loop(), asio::use_awaitable);
    const std::span<char> room(scrap.get(), Input::kBytes);
    auto taken = co_await raw.connection.stream.discard_some(room);
    if (!taken || *taken == 0) co_return;
  }
}

// Until `from` ends. The end of the way that ends last is told only when the receipt is written.
Task<> run_way(RawExchange& raw, Way& way, const Way& other) {
  for (;;) {
    if (!way.input.empty() && !co_await may_pass(raw, way)) {
      way.to.abort();
      way.from.abort();
      co_return;
    }
    auto passed = co_await pass_on(raw, way);
    if (!passed) {
      if (passed.error() == IoError::reset && &way == &*raw.up)
        co_await drop_rest(raw);
      else
        way.to.abort();
      co_return;
    }
    auto filled = co_await way.input.fill(way.from);
    if (filled) {
      raw.last_byte = std::chrono::steady_clock::now();
      continue;
    }
    if (may_wait_on(raw, way, filled.error())) continue;
    if (filled.error() == IoError::end_of_stream) {
      way.end = Way::End::clean;
      if (other.end == Way::End::none) way.to.shutdown_write();
      co_return;
    }
    note_broken(raw, filled.error(), way.broken_from);
    way.end = Way::End::broken;
    way.to.abort();  // a reset is a reset on the other side
    co_return;
  }
}

// A policy that no longer allows it ends it.
class EndsWithPolicy final : public Swept {
 public:
  explicit EndsWithPolicy(RawExchange& raw)
      : raw_(raw), place_(raw.connection.worker.enlist(*this)) {}
  EndsWithPolicy(const EndsWithPolicy&) = delete;
  ~EndsWithPolicy() override { raw_.connection.worker.delist(place_); }

  void on_sweep(SteadyTime) override {
    const std::uint64_t changes = raw_.connection.session->policy.changes();
    if (std::exchange(raw_.connection.policy_seen, changes) == changes) return;
    if (is_still_allowed(*raw_.connection.session, raw_.authority, raw_.verdict)) return;
    if (raw_.broken == Reason::none) raw_.broken = Reason::policy_changed;
    raw_.connection.stream.close();
    raw_.origin->close();
  }
  void close() override {}

 private:
  RawExchange& raw_;
  Worker::Place place_;
};

Task<> run_up(RawExchange& raw) {
  co_await run_way(raw, *raw.up, *raw.down);
  raw.is_up_running = false;
  raw.finished.cancel();
}

Task<> relay(RawExchange& raw) {
  Connection& connection = raw.connection;
  const SteadyDuration idle = connection.gateway.limits.raw_idle;
  for (Stream* stream : {&connection.stream, raw.origin.get()}) {
    stream->limit_reads(idle);
    stream->limit_writes(idle);
  }
  raw.last_byte = std::chrono::steady_clock::now();
  raw.up.emplace(connection.stream, connection.input, *raw.origin, Reason::client_broken,
                 Reason::upstream_broken);
  raw.down.emplace(*raw.origin, raw.from_origin, connection.stream, Reason::upstream_broken,
                   Reason::client_broken);
  EndsWithPolicy end(raw);
  end.on_sweep(raw.began);  // it may have changed while the origin was dialled
  raw.is_up_running = true;
  connection.worker.spawn(run_up(raw));
  co_await run_way(raw, *raw.down, *raw.up);
  if (raw.up->end == Way::End::broken) connection.stream.interrupt_read();  // drop_rest()
  while (raw.is_up_running) (void)co_await raw.finished.async_wait(as_result);
}

}  // namespace

Task<> serve_raw(Connection& connection, Authority authority, Verdict verdict,
                 TunnelAnswer* asked) {
  RawExchange raw(connection, std::move(authority), std::move(verdict));
  bool opened = false;
  if (asked != nullptr)
    opened = co_await open_asked(raw, *asked);
  else
    opened = co_await open_unasked(raw);
  if (!opened) {
    connection.stream.abort();
    co_return;
  }
  co_await relay(raw);
  const bool written = raw.close_receipt(raw.broken);
  if (written && raw.broken == Reason::none) {
    connection.stream.shutdown_write();
    raw.origin->shutdown_write();
    co_return;
  }
  raw.origin->abort();
  // An origin that said all it had to say and then took no more: what it said must arrive.
  const bool said_all = raw.broken == Reason::upstream_broken && raw.down->end == Way::End::clean;
  if (written && said_all) {
    co_await linger(connection.stream, raw.gateway.limits);
    co_return;
  }
  connection.stream.abort();
}

}  // namespace warder
