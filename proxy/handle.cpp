// A request's road, top to bottom: judge, swap plan, record, reach the origin, send, relay. Read this first.
#include "proxy/exchange.hpp"

#include <boost/asio/co_spawn.hpp>

#include "http/h1_writer.hpp"
#include "proxy/record.hpp"

namespace warder {
namespace {

std::string origin_form(const Target& target) {
  if (target.form == Target::Form::asterisk) return "*";
  return target.has_query ? target.path + "?" + target.query : target.path;
}

Refusal refusal_of(const Judgement& judged) {
  return {judged.verdict.reason, judged.detail, judged.verdict.rule, judged.verdict.suggestion};
}

Refusal refusal_of(const SwapRefusal& swap) {
  Refusal refusal;
  refusal.reason = swap.reason;
  if (!swap.secret.empty()) refusal.detail = "the placeholder of secret " + swap.secret + " stands in " + swap.place;
  else if (!swap.place.empty()) refusal.detail = "it stands in " + swap.place;
  refusal.suggestion = swap.suggestion;
  return refusal;
}

audit::Intent intent_of(const Exchange& exchange, std::string decision) {
  audit::Intent intent;
  intent.session = exchange.session.id;
  intent.exchange = exchange.receipt.exchange;
  intent.ingress = exchange.connection.ingress;
  intent.protocol = exchange.client_minor == 0 ? "http/1.0" : "http/1.1";
  intent.method = exchange.head.method;
  intent.authority = exchange.authority ? exchange.authority->origin() : "";
  intent.path = exchange.shown_path;
  intent.decision = std::move(decision);
  for (const SecretUse& use : exchange.swap.uses) intent.uses.push_back({use.secret, use.version, use.place});
  return intent;
}

// No record, no egress: where a secret is used the record is on the disk before anything is dialled.
Task<bool> record_intent(Exchange& exchange, const Verdict& verdict) {
  audit::Intent intent = intent_of(exchange, "allow");
  intent.rule = verdict.rule;
  intent.where = verdict.where;
  const auto durability =
      exchange.swap.uses.empty() ? audit::Durability::accepted : audit::Durability::durable;
  audit::Record entry(std::move(intent));
  auto sequence = co_await record(exchange.gateway.audit, std::move(entry), durability, 1);
  if (!sequence) co_return false;
  exchange.receipt.intent_seq = *sequence;
  exchange.let_through = true;
  exchange.receipt_due = true;
  co_return true;
}

// A connection of this client to this very authority is used again; a new one is resolved, vetted, dialled, verified.
Task<std::optional<Refusal>> reach_origin(Exchange& exchange) {
  auto& kept = exchange.connection.upstream;
  const bool fits = kept && kept->authority() == *exchange.authority &&
                    kept->private_addresses() == exchange.private_addresses;
  if (kept && (!fits || kept->is_stale())) kept.reset();
  if (!kept) {
    auto opened = co_await Upstream::open(exchange.connection.worker, exchange.gateway, *exchange.authority,
                                          exchange.private_addresses);
    if (auto* failure = std::get_if<DialFailure>(&opened)) {
      Refusal refusal;
      refusal.reason = failure->reason;
      refusal.detail = std::move(failure->detail);
      co_return std::move(refusal);
    }
    kept = std::move(std::get<std::unique_ptr<Upstream>>(opened));
    exchange.receipt.connect = kept->connect_time();
  }
  exchange.receipt.upstream = kept->address();
  exchange.receipt.tls = kept->tls();
  exchange.receipt.leaf_sha256 = kept->leaf();
  co_return std::nullopt;
}

// The bytes of a head, which may hold values: wiped whatever way the exchange ends.
struct WrittenHead {
  WrittenHead() = default;
  WrittenHead(const WrittenHead&) = delete;
  ~WrittenHead() { wipe(bytes); }
  std::string bytes;
};

// The only place where a value is in a head: swapped, written, wiped. write_head() makes room once: a string that
// grows leaves copies behind. False: the head cannot be written.
bool write_swapped(const Exchange& exchange, std::string& bytes) {
  RequestHead outgoing = exchange.head;
  carry_out_swap(outgoing, exchange.swap, *exchange.session.secrets);
  const bool written = write_head(bytes, outgoing);
  wipe_swapped(outgoing, exchange.swap);
  return written;
}

enum class Sent : std::uint8_t { whole, broken, unwritable };

Task<Sent> send_head(Exchange& exchange) {
  WrittenHead head;
  if (!write_swapped(exchange, head.bytes)) co_return Sent::unwritable;
  if (!exchange.swap.uses.empty()) exchange.session.secret_was_sent_to(*exchange.authority);
  exchange.upstream().stream().limit_writes(exchange.gateway.upstream.idle_timeout);
  auto sent = co_await exchange.upstream().stream().write_all(head.bytes);
  co_return sent ? Sent::whole : Sent::broken;
}

// Only what the origin's own closing broke: not a time-out, and not a client that went away.
bool may_send_again(Exchange& exchange, const Refusal& failed) {
  static constexpr std::array<std::string_view, 3> kSafe{"GET", "HEAD", "OPTIONS"};
  const bool safe = std::find(kSafe.begin(), kSafe.end(), exchange.head.method) != kSafe.end();
  const bool silent = !exchange.origin_spoke && !exchange.upstream().parser().started();
  return safe && silent && exchange.framing.kind == Framing::Kind::none &&
         failed.reason == Reason::upstream_broken;
}

// Sends the request and waits for the head of the answer. A kept connection that the origin closed in the same
// moment is replaced once, if no byte came back and the request is safe to repeat.
Task<std::optional<Refusal>> ask_origin(Exchange& exchange) {
  for (;;) {
    auto unreached = co_await reach_origin(exchange);
    if (unreached) co_return unreached;
    Upstream& origin = exchange.upstream();
    exchange.connection.stream.close_with_me(&origin.stream());
    const bool kept = origin.was_used();
    origin.now_used();
    const Sent sent = co_await send_head(exchange);
    if (sent == Sent::unwritable) co_return Refusal();
    if (sent == Sent::whole && exchange.framing.kind != Framing::Kind::none) {
      exchange.upload.running = true;
      exchange.connection.worker.spawn(run_upload(exchange));
    }
    auto failed = co_await await_response(exchange);
    if (!failed) co_return std::nullopt;
    if (!kept || !may_send_again(exchange, *failed)) co_return failed;
    exchange.connection.stream.close_with_me(nullptr);
    exchange.connection.upstream.reset();
  }
}

// While the answer is awaited nobody reads the client: when it goes away, the origin must hear of it
// (ask_origin() says which). No way out of handle() may leave that pointer behind.
struct Watch {
  explicit Watch(Exchange& exchange) : stream(exchange.connection.stream) {}
  ~Watch() { stream.close_with_me(nullptr); }
  Stream& stream;
};

std::string what_was_asked(const Exchange& exchange) {
  const std::string host = exchange.authority ? exchange.authority->origin() : "(no host)";
  return exchange.head.method + " " + host + exchange.shown_path;
}

std::string side_of(Reason reason) {
  switch (reason) {
    case Reason::client_broken:
    case Reason::client_timeout:
    case Reason::malformed_request:
    case Reason::placeholder_wrong_place:
    case Reason::placeholder_wrong_host:
    case Reason::placeholder_foreign: return "client";
    case Reason::none: return "";
    case Reason::internal:
    case Reason::audit_unavailable: return "warder";
    default: return "upstream";
  }
}

// The exchange is over and both sides are at a border between messages, or they are closed.
Task<After> settle(Exchange& exchange) {
  const bool origin_stays = exchange.connection.upstream && exchange.upstream().parser().keep_alive() &&
                            exchange.upstream().parser().framing().kind != Framing::Kind::until_close &&
                            exchange.is_request_done();
  exchange.connection.stream.close_with_me(nullptr);
  co_await stop_upload(exchange);
  if (!origin_stays) exchange.connection.upstream.reset();
  if (exchange.client_keeps_alive && exchange.is_request_done()) co_return After::next_request;
  co_await linger(exchange.connection.stream, exchange.gateway.limits);
  co_return After::close;
}

}  // namespace

Exchange::Exchange(Connection& of)
    : connection(of),
      gateway(of.gateway),
      session(*of.session),
      head(of.parser.request()),
      framing(of.parser.framing()),
      client_minor(head.minor),
      client_keeps_alive(of.parser.keep_alive() && head.minor >= 1),
      upload(of.worker.loop()) {
  receipt.session = session.id;
  receipt.exchange = ++session.exchanges;
}

Exchange::~Exchange() {
  if (receipt_due) close_receipt(Reason::client_broken, receipt.status);
}

bool Exchange::close_receipt(Reason how, int status) {
  if (!receipt_due) return true;
  receipt_due = false;
  receipt.reason = how;
  receipt.side = side_of(how);
  receipt.status = status;
  receipt.total = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - began);
  return gateway.audit.append_receipt(receipt);
}

Task<After> refuse(Exchange& exchange, Refusal refusal) {
  exchange.connection.stream.close_with_me(nullptr);
  if (exchange.let_through) {
    if (exchange.connection.upstream) {
      // Nothing of this exchange may end cleanly at the origin, and its connection is in no known state.
      exchange.upstream().stream().abort();
    }
    co_await stop_upload(exchange);
    exchange.connection.upstream.reset();
    exchange.close_receipt(refusal.reason,
                           exchange.answered ? exchange.receipt.status : info(refusal.reason).status);
  } else {
    audit::Intent intent = intent_of(exchange, "deny");
    intent.reason = refusal.reason;
    intent.rule = refusal.rule;
    audit::Record entry(std::move(intent));
    // A refusal that cannot be recorded is still a refusal.
    (void)co_await record(exchange.gateway.audit, std::move(entry), audit::Durability::accepted, 0);
  }
  if (refusal.reason != Reason::client_broken) {
    exchange.session.denials.add(refusal.reason, what_was_asked(exchange), refusal.suggestion);
  }
  if (exchange.answered || refusal.reason == Reason::client_broken) {
    exchange.connection.stream.abort();
    co_return After::close;
  }
  const bool stays = exchange.client_keeps_alive && exchange.is_request_done();
  const Persist persist = stays ? Persist::keep_alive : Persist::close;
  const std::string answer = write_refusal(refusal, exchange.head, persist);
  exchange.connection.stream.limit_writes(exchange.gateway.limits.client_idle);
  auto sent = co_await exchange.connection.stream.write_all(answer);
  if (sent && stays) co_return After::next_request;
  co_await linger(exchange.connection.stream, exchange.gateway.limits);
  co_return After::close;
}

Task<After> handle(Connection& connection) {
  Exchange exchange(connection);
  Session& session = exchange.session;

  const Judgement judged = judge(exchange.head, connection.arrival, session.policy);
  exchange.authority = judged.authority;
  exchange.target = origin_form(judged.target);
  exchange.shown_path = audited_path(judged.target, *session.secrets);
  if (!judged.verdict.allows()) co_return co_await refuse(exchange, refusal_of(judged));
  exchange.private_addresses =
      judged.verdict.allow_private ? PrivateAddresses::allowed : PrivateAddresses::refused;

  // After the policy, never before: its decision must not depend on what a placeholder stands for.
  auto planned = plan_swap(exchange.head, *exchange.authority, *session.secrets);
  if (auto* refused = std::get_if<SwapRefusal>(&planned)) {
    co_return co_await refuse(exchange, refusal_of(*refused));
  }
  exchange.swap = std::move(std::get<SwapPlan>(planned));

  const auto session_has =
      session.secrets->credentials().empty() ? SecretsInUse::no : SecretsInUse::yes;
  const auto swapped_here = exchange.swap.uses.empty() ? SecretsInUse::no : SecretsInUse::yes;
  if (!prepare_request(exchange.head, *exchange.authority, exchange.framing, exchange.target, session_has,
                       swapped_here)) {
    Refusal refusal;
    refusal.reason = Reason::malformed_request;
    refusal.detail = "a Connection field names a field that it must not";
    co_return co_await refuse(exchange, std::move(refusal));
  }

  if (!co_await record_intent(exchange, judged.verdict)) {
    Refusal refusal;
    refusal.reason = Reason::audit_unavailable;
    co_return co_await refuse(exchange, std::move(refusal));
  }

  const Watch watch(exchange);
  auto failed = co_await ask_origin(exchange);
  if (!failed) failed = co_await relay_response(exchange);
  if (failed) co_return co_await refuse(exchange, std::move(*failed));
  co_return co_await settle(exchange);
}

}  // namespace warder
