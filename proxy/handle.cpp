// A request's road, top to bottom: judge, swap plan, record, reach the origin, send, relay. Read this first.
#include "proxy/exchange.hpp"

#include <boost/asio/co_spawn.hpp>

#include "proxy/await_approval.hpp"
#include "proxy/metering.hpp"
#include "proxy/record.hpp"
#include "proxy/still_allowed.hpp"

namespace warder {
namespace {

std::string origin_form(const Target& target) {
  if (target.form == Target::Form::asterisk) return "*";
  return target.has_query ? target.path + "?" + target.query : target.path;
}

Refusal refusal_of(const Judgement& judged) {
  return {judged.verdict.reason, judged.detail, judged.verdict.rule, judged.verdict.suggestion,
          judged.verdict.where};
}

Refusal refusal_of(const SwapRefusal& swap) {
  Refusal refusal;
  refusal.reason = swap.reason;
  if (!swap.secret.empty())
    refusal.detail = "the placeholder of secret " + swap.secret + " stands in " + swap.place;
  else if (!swap.place.empty())
    refusal.detail = "it stands in " + swap.place;
  refusal.suggestion = swap.suggestion;
  return refusal;
}

audit::Intent intent_of(const Exchange& exchange, std::string decision) {
  audit::Intent intent;
  intent.session = exchange.session.id;
  intent.exchange = exchange.receipt.exchange;
  intent.ingress = exchange.connection.ingress;
  intent.protocol = to_string(exchange.client_version);
  intent.method = exchange.head.method;
  intent.authority = exchange.authority ? exchange.authority->origin() : "";
  intent.path = exchange.shown_path;
  intent.decision = std::move(decision);
  for (const SecretUse& use : exchange.swap.uses)
    intent.uses.push_back({use.secret, use.version, use.place});
  for (const SecretUse& use : exchange.body.uses)
    intent.uses.push_back({use.secret, use.version, use.place});
  intent.approval_seq = exchange.approval;
  for (const ForeignCredential& own : exchange.swap.foreign) {
    const bool stripped = own.what == Grant::Foreign::strip;
    intent.uses.push_back({stripped ? "foreign:stripped" : "foreign:passed", 0, own.place});
  }
  if (exchange.identity) intent.uses.push_back({"client_certificate", 1, "tls"});
  return intent;
}

// No record, no egress: where a secret is used the record is on the disk before anything is dialled.
Task<bool> record_intent(Exchange& exchange, const Verdict& verdict) {
  const bool observed = is_observed(verdict);
  audit::Intent intent = intent_of(exchange, observed ? "observe" : "allow");
  if (observed) intent.reason = verdict.reason;
  intent.rule = verdict.rule;
  intent.where = verdict.where;
  const auto durability =
      intent.uses.empty() ? audit::Durability::accepted : audit::Durability::durable;
  audit::Record entry(std::move(intent));
  auto sequence = co_await record(exchange.gateway.audit, std::move(entry), durability, 1);
  if (!sequence) co_return false;
  exchange.receipt.intent_seq = *sequence;
  if (observed) ++exchange.session.observed;
  exchange.let_through = true;
  exchange.receipt_due = true;
  co_return true;
}

// A client that goes away closes what it is set to watch. No way out may leave that pointer behind.
struct Watch {
  explicit Watch(ClientLeg& leg) : client(leg) {}
  Watch(ClientLeg& leg, Closable& what) : client(leg) { client.watch(&what); }
  Watch(const Watch&) = delete;
  ~Watch() { client.watch(nullptr); }
  ClientLeg& client;
};

// A kept connection of this session to this very authority is used again; a new one is resolved, vetted, dialled, verified.
enum class Attempt : bool { first, again };

// The newest version in which the origin may be asked. What one speaks that is shown a client certificate was not known
// when the client was offered its version (sandbox_tls.cpp): it chooses at its own handshake.
HttpVersion newest_for(const Exchange& exchange) {
  const bool may_choose = exchange.identity && !exchange.websocket;
  return may_choose ? HttpVersion::http2 : exchange.client_version;
}

Task<std::optional<Refusal>> reach_origin(Exchange& exchange, Attempt attempt) {
  OriginKey key{*exchange.authority, exchange.private_addresses, exchange.identity};
  OriginWait wait(exchange.connection.worker.loop());
  wait.wants_new = attempt == Attempt::again;
  const Watch watch(exchange.client, wait);
  const HttpVersion newest = newest_for(exchange);
  auto reached = co_await exchange.connection.origins.acquire(key, newest, wait);
  // Every message of HTTP/1.1 but an upgrade has its like in HTTP/2, for an origin that speaks nothing else.
  const auto* refused = std::get_if<DialFailure>(&reached);
  if (refused != nullptr && refused->wants_h2 && !exchange.websocket)
    reached = co_await exchange.connection.origins.acquire(key, HttpVersion::http2, wait);
  if (auto* failure = std::get_if<DialFailure>(&reached)) {
    Refusal refusal;
    refusal.reason = failure->reason;
    refusal.detail = std::move(failure->detail);
    co_return std::move(refusal);
  }
  exchange.origin = std::move(std::get<std::unique_ptr<OriginLeg>>(reached));
  const UpstreamFacts& facts = exchange.origin->facts();
  if (!exchange.origin->is_reused()) exchange.receipt.connect = facts.connect_time;
  exchange.receipt.upstream = facts.address;
  exchange.receipt.tls = facts.tls;
  exchange.receipt.leaf_sha256 = facts.leaf;
  co_return std::nullopt;
}

// The only place where a value is in a head: swapped here, written and wiped by the leg.
Task<OriginLeg::Sent> send_head(Exchange& exchange) {
  RequestHead outgoing = exchange.head;
  carry_out_swap(outgoing, exchange.swap, *exchange.secrets);
  auto fields = secret_fields(exchange.swap);
  if (!exchange.body.uses.empty()) fields.emplace_back(":body");
  co_return co_await exchange.origin->send_head(std::move(outgoing), exchange.framing,
                                                std::move(fields));
}

// Only what the origin's own closing broke: not a time-out, and not a client that went away. Any method, where the origin
// says that it did nothing with it.
bool may_send_again(Exchange& exchange, const Refusal& failed) {
  static constexpr std::array<std::string_view, 3> kSafe{"GET", "HEAD", "OPTIONS"};
  const bool safe = std::find(kSafe.begin(), kSafe.end(), exchange.head.method) != kSafe.end();
  const bool unheard = safe && exchange.origin->is_reused() && !exchange.origin->has_spoken();
  return (unheard || exchange.origin->was_refused()) &&
         exchange.framing.kind == Framing::Kind::none && failed.reason == Reason::upstream_broken;
}

Refusal ended(const Exchange& exchange) {
  Refusal refusal;
  refusal.reason = *exchange.ended;
  return refusal;
}

Refusal gone() {
  Refusal refusal;
  refusal.reason = Reason::client_broken;
  return refusal;
}

// Sends the request and waits for the head of the answer. A kept connection that the origin closed in the same
// moment is replaced once, if no byte came back and the request is safe to repeat.
Task<std::optional<Refusal>> ask_origin(Exchange& exchange) {
  for (Attempt attempt = Attempt::first;; attempt = Attempt::again) {
    auto unreached = co_await reach_origin(exchange, attempt);
    if (unreached) co_return unreached;
    exchange.client.watch(exchange.origin.get());
    if (exchange.client.is_gone()) co_return gone();  // while the origin was being dialled
    if (exchange.ended) co_return ended(exchange);
    const OriginLeg::Sent sent = co_await send_head(exchange);
    if (sent == OriginLeg::Sent::unwritable) co_return Refusal();
    if (sent == OriginLeg::Sent::whole && exchange.framing.kind != Framing::Kind::none) {
      exchange.upload.running = true;
      exchange.connection.worker.spawn(run_upload(exchange));
    }
    auto failed = co_await await_response(exchange);
    if (!failed) co_return std::nullopt;
    if (attempt == Attempt::again || !may_send_again(exchange, *failed)) co_return failed;
    exchange.client.watch(nullptr);
    exchange.origin->close();
    exchange.origin.reset();
  }
}

// The body, or a WebSocket's messages: what may be swapped in them is known from the head.
std::optional<SwapRefusal> plan_what_follows(Exchange& exchange) {
  if (exchange.websocket) {
    exchange.body = plan_messages(*exchange.authority, *exchange.secrets);
    return std::nullopt;
  }
  const Framing& framing = exchange.framing;
  const bool has_body = framing.kind == Framing::Kind::chunked || framing.length > 0;
  if (!has_body) return std::nullopt;
  auto planned = plan_body(exchange.head, *exchange.authority, *exchange.secrets, exchange.swap);
  if (auto* refused = std::get_if<SwapRefusal>(&planned)) return std::move(*refused);
  exchange.body = std::move(std::get<BodyPlan>(planned));
  return std::nullopt;
}

std::string what_was_asked(const Exchange& exchange) {
  const std::string host = exchange.authority ? exchange.authority->origin() : "(no host)";
  return exchange.head.method + " " + host + exchange.shown_path;
}

std::string side_of(Reason reason) {
  switch (reason) {
    case Reason::client_broken:
    case Reason::client_timeout:
    case Reason::malformed_request:
    case Reason::too_large:
    case Reason::placeholder_wrong_place:
    case Reason::foreign_credential:
    case Reason::body_unswappable:
    case Reason::placeholder_wrong_host:
    case Reason::placeholder_foreign: return "client";
    case Reason::none: return "";
    case Reason::internal:
    case Reason::limit_exceeded:
    case Reason::session_ended:
    case Reason::quarantined:
    case Reason::policy_changed:
    case Reason::secret_unavailable:
    case Reason::secret_revoked:
    case Reason::secret_expired:
    case Reason::audit_unavailable: return "warder";
    default: return "upstream";
  }
}

// Not an exchange that was ended because its secret was revoked under way: that is nobody's doing in the sandbox.
bool sprang_tripwire(const Exchange& exchange, Reason reason) {
  if (exchange.ended) return false;
  return reason == Reason::placeholder_wrong_host || reason == Reason::placeholder_wrong_place ||
         reason == Reason::placeholder_foreign || reason == Reason::secret_revoked;
}

// The exchange is over and both sides are at a border between messages, or they are closed.
Task<After> settle(Exchange& exchange) {
  const bool clean = exchange.is_request_done();
  exchange.client.watch(nullptr);
  co_await stop_upload(exchange);
  exchange.origin->release(clean ? OriginLeg::Border::clean : OriginLeg::Border::unclean);
  co_return exchange.client_keeps_alive&& clean ? After::next_request : After::linger;
}

}  // namespace

Task<bool> answer_refusal(ClientLeg& client, const Refusal& refusal, const RequestHead& request,
                          HttpVersion version, Persist persist) {
  RefusalMessage message = refusal_message(refusal, request);
  if (persist == Persist::close && version != HttpVersion::http2)
    message.head.fields.add("Connection", "close");
  const Delivery delivery = message.body.empty() ? Delivery::none : Delivery::length;
  if (!client.begin_answer(message.head, delivery)) co_return false;
  client.hold(message.body);
  if (!client.hold_end({}, HeaderList())) co_return false;
  co_return co_await client.flush();
}

Exchange::Exchange(Connection& of, ClientLeg& with, IncomingRequest request)
    : Exchange(of, with, std::move(request), of.session->at(std::chrono::steady_clock::now())) {}

Exchange::Exchange(Connection& of, ClientLeg& with, IncomingRequest request, Session::Snapshot now)
    : connection(of),
      client(with),
      gateway(of.gateway),
      session(*of.session),
      policy(std::move(now.policy)),
      secrets(std::move(now.secrets)),
      head(std::move(request.head)),
      framing(request.framing),
      client_version(request.version),
      client_keeps_alive(request.keeps_alive),
      upload(of.worker.loop()) {
  receipt.session = session.id;
  receipt.exchange = ++session.exchanges;
}

Exchange::~Exchange() {
  if (is_metered) session.meter.end_request();
  if (!receipt_due) return;
  if (answered) client.abort();  // destroyed in the middle of an answer
  close_receipt(Reason::client_broken, receipt.status);
}

bool Exchange::close_receipt(Reason how, int status) {
  if (!receipt_due) return true;
  receipt_due = false;
  // In quarantine, and under its session's end, everything breaks off, and that is why.
  if (how == Reason::client_broken && session.quarantined)
    how = Reason::quarantined;
  else if (how == Reason::client_broken && session.life == Life::ended)
    how = Reason::session_ended;
  receipt.reason = how;
  receipt.side = side_of(how);
  receipt.status = status;
  receipt.bytes_down += client.bytes_written();
  receipt.total = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - began);
  return gateway.audit.append_receipt(receipt);
}

Task<After> refuse(Exchange& exchange, Refusal refusal) {
  exchange.client.watch(nullptr);
  // What could not be searched from its beginning on can still be told, if that beginning has not left.
  if (exchange.answered && refusal.reason == Reason::response_unmaskable)
    exchange.answered = !exchange.client.take_back();
  if (exchange.let_through) {
    // Nothing of this exchange may end cleanly at the origin, and its connection is in no known state.
    if (exchange.origin) exchange.origin->abort();
    co_await stop_upload(exchange);
    exchange.origin.reset();
    exchange.close_receipt(
        refusal.reason, exchange.answered ? exchange.receipt.status : info(refusal.reason).status);
  } else {
    audit::Intent intent = intent_of(exchange, "deny");
    intent.reason = refusal.reason;
    intent.uses.clear();  // nothing was used
    intent.rule = refusal.rule;
    intent.where = refusal.where;
    audit::Record entry(std::move(intent));
    // A refusal that cannot be recorded is still a refusal.
    (void)co_await record(exchange.gateway.audit, std::move(entry), audit::Durability::accepted, 0);
  }
  if (sprang_tripwire(exchange, refusal.reason) &&
      exchange.policy->on_tripwire == OnTripwire::quarantine &&
      !exchange.session.quarantined.exchange(true) && exchange.session.announce)
    exchange.session.announce("quarantine: " + refusal.detail + "; nothing more may leave");
  if (refusal.reason != Reason::client_broken) {
    exchange.session.denials.add(refusal.reason,
                                 refusal.limit.empty() ? what_was_asked(exchange) : refusal.limit,
                                 refusal.suggestion);
  }
  if (exchange.said_close) co_return After::linger;
  if (exchange.answered || refusal.reason == Reason::client_broken) {
    exchange.client.abort();
    co_return After::close;
  }
  const bool is_read = exchange.is_request_done() || exchange.upload.ahead;
  const bool stays = exchange.client_keeps_alive && is_read;
  const Persist persist = stays ? Persist::keep_alive : Persist::close;
  const bool sent = co_await answer_refusal(exchange.client, refusal, exchange.head,
                                            exchange.client_version, persist);
  co_return sent&& stays ? After::next_request : After::linger;
}

Task<> refuse_unread(Connection& connection, ClientLeg& client, Reason reason) {
  Verdict verdict;
  verdict.reason = reason;
  const auto authority = authority_of(connection.arrival);
  const std::string where = authority ? authority->origin() : "unknown host";
  const std::string protocol(to_string(connection.version));
  if (!co_await record_refused_connection(connection, protocol, verdict, where)) co_return;
  connection.session->denials.add(reason, "request to " + where, "");
  Refusal refusal;
  refusal.reason = reason;
  (void)co_await answer_refusal(client, refusal, RequestHead(), connection.version, Persist::close);
}

Task<After> handle(Connection& connection, ClientLeg& client, IncomingRequest request) {
  Exchange exchange(connection, client, std::move(request));
  Session& session = exchange.session;

  if (session.life == Life::ended) {
    Refusal refusal;
    refusal.reason = Reason::session_ended;
    co_return co_await refuse(exchange, std::move(refusal));
  }
  if (session.quarantined) {
    Refusal refusal;
    refusal.reason = Reason::quarantined;
    co_return co_await refuse(exchange, std::move(refusal));
  }
  renew_refusal(connection);
  Judgement judged =
      judge(exchange.head, exchange.framing, connection.arrival, exchange.policy->policy);
  if (exchange.policy->observes && !connection.arrival.refused)
    observe(judged, exchange.head.method, exchange.policy->policy);
  exchange.authority = judged.authority;
  exchange.target = origin_form(judged.target);
  exchange.shown_path = audited_path(judged.target, *exchange.secrets);
  if (auto refused = refuse_connection(exchange))
    co_return co_await refuse(exchange, std::move(*refused));
  if (judged.verdict.decision == Decision::deny)
    co_return co_await refuse(exchange, refusal_of(judged));
  if (auto refused = admit(exchange)) co_return co_await refuse(exchange, std::move(*refused));
  exchange.asked_by = judged.verdict.decision == Decision::ask ? judged.verdict : Verdict();
  exchange.sent_bytes = body_bytes_of(exchange.framing);
  if (exchange.policy->policy.reads_fields()) exchange.sent_fields = exchange.head.fields;

  // After the policy, never before: its decision must not depend on what a placeholder stands for.
  auto planned = plan_swap(exchange.head, *exchange.authority, *exchange.secrets);
  if (auto* refused = std::get_if<SwapRefusal>(&planned)) {
    co_return co_await refuse(exchange, refusal_of(*refused));
  }
  exchange.swap = std::move(std::get<SwapPlan>(planned));
  strip_foreign(exchange.head.fields, exchange.swap);
  exchange.target = strip_foreign(std::move(exchange.target), exchange.swap);
  // In clear text too: what a program reads there is a token all the same.
  exchange.capture =
      find_capture(exchange.policy->captures, exchange.authority->host, judged.target.path);
  if (exchange.authority->scheme == Scheme::https)
    exchange.identity = exchange.policy->certificates.find(exchange.authority->host);

  exchange.websocket = find_ws_offer(exchange.head, exchange.framing, exchange.client_version);
  if (exchange.websocket)
    exchange.framing = Framing();  // what follows is no body, whatever its length was said to be
  // One that may be minted tokens has to be able to read what comes back from now on.
  const bool has_none =
      exchange.secrets->credentials().empty() && exchange.policy->captures.empty();
  const auto session_has = has_none ? SecretsInUse::no : SecretsInUse::yes;
  // A host that has a grant may know the value without being sent it now: a range would cut it in two.
  const bool may_know = !exchange.secrets->grants_for(exchange.authority->host).empty();
  const auto swapped_here = may_know ? SecretsInUse::yes : SecretsInUse::no;
  if (!prepare_request(exchange.head, *exchange.authority, exchange.target, session_has,
                       swapped_here)) {
    Refusal refusal;
    refusal.reason = Reason::malformed_request;
    refusal.detail = "a Connection field names a field that it must not";
    co_return co_await refuse(exchange, std::move(refusal));
  }
  if (exchange.websocket) offer_ws_upgrade(exchange.head);
  if (exchange.capture != nullptr) {
    exchange.head.fields.remove("accept-encoding");
    exchange.head.fields.add("Accept-Encoding", "identity");
    exchange.head.fields.remove("range");  // a part of a token is none that could be found
    exchange.head.fields.remove("if-range");
  }
  if (auto refused = plan_what_follows(exchange))
    co_return co_await refuse(exchange, refusal_of(*refused));
  if (judged.verdict.decision == Decision::ask) {
    auto unanswered = co_await await_approval(exchange, judged);
    if (unanswered) co_return co_await refuse(exchange, std::move(*unanswered));
  }
  exchange.private_addresses =
      judged.verdict.allow_private ? PrivateAddresses::allowed : PrivateAddresses::refused;
  exchange.max_body = judged.verdict.max_body;
  if (!exchange.websocket && !exchange.body.empty()) {
    auto unfit = co_await prepare_body(exchange);
    if (unfit) co_return co_await refuse(exchange, std::move(*unfit));
  }

  if (!co_await record_intent(exchange, judged.verdict)) {
    Refusal refusal;
    refusal.reason = Reason::audit_unavailable;
    co_return co_await refuse(exchange, std::move(refusal));
  }

  StillAllowed still_allowed(exchange);
  still_allowed.on_sweep(exchange.began);  // much may have changed while the body was awaited
  if (exchange.ended) co_return co_await refuse(exchange, ended(exchange));

  // While the answer is awaited nobody reads the client: when it goes away, the origin must hear of it (ask_origin()
  // says which).
  const Watch watch(exchange.client);
  auto failed = co_await ask_origin(exchange);
  if (!failed && exchange.origin->head().status == 101)
    failed = co_await relay_websocket(exchange);
  else if (!failed && exchange.capture != nullptr)
    failed = co_await relay_token_reply(exchange);
  else if (!failed)
    failed = co_await relay_response(exchange);
  if (failed) co_return co_await refuse(exchange, std::move(*failed));
  co_return co_await settle(exchange);
}

}  // namespace warder
