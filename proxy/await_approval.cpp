// A request that a rule asks about: what it asks, and its wait for an answer.
#include <algorithm>
#include <boost/asio/steady_timer.hpp>

#include "config/trust_store.hpp"
#include "http/chars.hpp"
#include "proxy/await_approval.hpp"
#include "proxy/record.hpp"
#include "proxy/shown.hpp"

namespace warder {
namespace {

constexpr std::size_t kUrlShown = 2048;
constexpr std::size_t kFieldShown = 512;
constexpr std::size_t kMostFieldsShown = 100;
constexpr std::size_t kBodyShown = 4096;
constexpr std::size_t kInNotice = 100;

Refusal refusal_for(const Verdict& verdict, Reason reason, std::string detail) {
  Refusal refusal;
  refusal.reason = reason;
  refusal.detail = std::move(detail);
  refusal.rule = verdict.rule;
  refusal.where = verdict.where;
  return refusal;
}

bool may_hold_credential(std::string_view name) {
  if (same_name(name, "cookie")) return true;
  const auto places = default_places();
  return std::any_of(places.begin(), places.end(), [&](const Place& place) {
    return place.kind == Place::Kind::header && same_name(place.name, name);
  });
}

// A credential that is none of Warder's placeholders may be somebody's all the same: its scheme and length are shown.
std::string shown_value(const HeaderField& field, const Exchange& exchange) {
  const std::string named = without_placeholders(field.value, *exchange.secrets);
  if (named != field.value || !may_hold_credential(field.name))
    return shown_ascii(named, kFieldShown);
  const std::size_t space = field.value.find(' ');
  const std::string scheme = space == std::string::npos ? "" : field.value.substr(0, space) + " ";
  for (const SecretUse& use : exchange.swap.uses) {
    if (use.place == "basic" && same_name(field.name, "authorization"))
      return shown_ascii(scheme, kFieldShown) + "[secret:" + use.secret + "]";
  }
  return shown_ascii(scheme, kFieldShown) + "(" + std::to_string(field.value.size()) + " bytes)";
}

void show_fields(Question& question, const HeaderList& fields, const Exchange& exchange) {
  for (const HeaderField& field : fields) {
    if (question.fields.size() == kMostFieldsShown) {
      question.fields.push_back({"…", "(" + std::to_string(fields.size()) + " in all)"});
      return;
    }
    const std::string name = without_placeholders(field.name, *exchange.secrets);
    question.fields.push_back({shown_ascii(name, kFieldShown), shown_value(field, exchange)});
  }
}

std::string lower(std::string_view name) {
  std::string out(name);
  std::transform(out.begin(), out.end(), out.begin(), to_lower);
  return out;
}

std::string digest_of_fields(const HeaderList& fields, const HeaderList& trailers) {
  std::vector<std::string> names;
  for (const HeaderField& field : fields) names.push_back(lower(field.name));
  for (const HeaderField& field : trailers) names.push_back("trailer " + lower(field.name));
  std::vector<std::string_view> parts;
  auto name = names.begin();
  for (const HeaderList* list : {&fields, &trailers}) {
    for (const HeaderField& field : *list) {
      parts.emplace_back(*name++);
      parts.emplace_back(field.value);
    }
  }
  return digest_of(parts);
}

Question question_of(const Exchange& exchange, const Judgement& judged) {
  const RequestHead& head = exchange.head;
  const std::optional<WipedBytes>& body = exchange.upload.ahead;
  const HeaderList none;
  const HeaderList& trailers = body ? exchange.client.trailers() : none;
  Question question;
  question.rule = judged.verdict.rule;
  question.where = judged.verdict.where;
  question.method = shown_ascii(head.method, kFieldShown);
  question.authority = exchange.authority->origin();
  question.path = exchange.shown_path;
  const std::string path = shown_path(judged.target, *exchange.secrets);
  question.url = question.authority + shown_ascii(path, kUrlShown);
  show_fields(question, head.fields, exchange);
  show_fields(question, trailers, exchange);
  for (const auto* uses : {&exchange.swap.uses, &exchange.body.uses}) {
    for (const SecretUse& use : *uses) question.secrets.push_back(use.secret + " in " + use.place);
  }
  question.fields_sha256 = digest_of_fields(head.fields, trailers);
  const bool has_body = !exchange.websocket && exchange.framing != Framing();
  if (body || !has_body || exchange.framing == Framing{Framing::Kind::length, 0}) {
    const std::string_view bytes = body ? as_view(*body) : std::string_view();
    question.body =
        shown_text(without_placeholders(std::string(bytes), *exchange.secrets), kBodyShown);
    question.body_bytes = bytes.size();
    question.body_sha256 = sha256_hex(bytes);
  }
  question.binding = digest_of({question.rule, question.where, head.method, question.authority,
                                head.target, question.fields_sha256, question.body_sha256});
  return question;
}

// Looks up with each sweep; whatever it waits for is seen then.
class Wait final : public Swept {
 public:
  explicit Wait(Exchange& exchange)
      : client_(exchange.client),
        worker_(exchange.connection.worker),
        timer_(worker_.loop(), SteadyTime::max()),
        place_(worker_.enlist(*this)) {
    client_.watch(&gone_);
  }
  Wait(const Wait&) = delete;
  ~Wait() override {
    client_.watch(nullptr);
    worker_.delist(place_);
  }
  void on_sweep(SteadyTime) override { timer_.cancel(); }
  void close() override {
    stopped_ = true;
    timer_.cancel();
  }
  Task<> until_sweep() {
    timer_.expires_at(SteadyTime::max());
    if (!stopped_) (void)co_await timer_.async_wait(as_result);
  }
  bool is_stopped() const { return stopped_; }
  bool is_client_gone() const { return gone_.is_closed || client_.is_gone(); }

 private:
  struct Gone final : Closable {
    void close() override { is_closed = true; }
    bool is_closed = false;
  };
  ClientLeg& client_;
  Worker& worker_;
  asio::steady_timer timer_;
  Gone gone_;
  bool stopped_ = false;
  Worker::Place place_;  // last: it may be closed at once
};

struct HeldPlace {
  explicit HeldPlace(Approvals& of) : approvals(of), taken(of.take_place()) {}
  HeldPlace(const HeldPlace&) = delete;
  ~HeldPlace() {
    if (taken) approvals.leave_place();
  }
  Approvals& approvals;
  const bool taken;
};

struct Ticketed {
  Ticketed(Approvals& of, Approvals::Ticket given) : approvals(of), ticket(given) {}
  Ticketed(const Ticketed&) = delete;
  ~Ticketed() { approvals.withdraw(ticket); }
  Approvals& approvals;
  const Approvals::Ticket ticket;
};

// What ends a wait whatever the answer is.
std::optional<Refusal> cut_short(const Exchange& exchange, const Wait& wait) {
  const Session& session = exchange.session;
  Refusal refusal;
  if (wait.is_client_gone())
    refusal.reason = Reason::client_broken;
  else if (wait.is_stopped() || session.life == Life::ended)
    refusal.reason = Reason::session_ended;
  else if (session.quarantined)
    refusal.reason = Reason::quarantined;
  else
    return std::nullopt;
  return refusal;
}

Task<> record_timeout(Exchange& exchange, Approvals::Ticket ticket) {
  Approvals& approvals = exchange.session.approvals;
  auto asked = approvals.asked(ticket, std::chrono::steady_clock::now());
  if (asked) {
    audit::Approval said = approval_of(exchange.session.id, *asked);
    said.decision = "timeout";
    audit::Record entry(std::move(said));
    // A refusal that cannot be recorded is still a refusal.
    (void)co_await record(exchange.gateway.audit, std::move(entry), audit::Durability::accepted, 0);
  }
  approvals.time_out(ticket);
}

std::string cut(const std::string& shown) {
  return shown.size() <= kInNotice ? shown : shown.substr(0, kInNotice) + "…";
}

void tell(Exchange& exchange, const Question& question, Approvals::Ticket ticket, SteadyTime now) {
  const auto id = exchange.session.approvals.due_notice(ticket, now);
  if (!id || !exchange.session.summon) return;
  exchange.session.summon("approval needed: " + cut(question.method) + " " + cut(question.url) +
                          " (rule " + question.rule + "): warder approve " + id->substr(0, 8));
}

Refusal outdated(const Verdict& asked) {
  return refusal_for(asked, Reason::policy_changed,
                     "the policy changed while it waited for an answer: ask again");
}

Task<std::optional<Refusal>> answer_to(Exchange& exchange, const Verdict& asked,
                                       const Question& question, Approvals::Ticket ticket) {
  Approvals& approvals = exchange.session.approvals;
  Wait wait(exchange);
  for (;; co_await wait.until_sweep()) {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (auto cut = cut_short(exchange, wait)) co_return std::move(*cut);
    const Approvals::Standing standing = approvals.look(ticket, now);
    // Behind the answer: what was planned for it is of the policy that it began with.
    if (exchange.session.policy.changes() != exchange.policy->generation) co_return outdated(asked);
    switch (standing.state) {
      case Approvals::State::allowed: exchange.approval = standing.record; co_return std::nullopt;
      case Approvals::State::denied: co_return refusal_for(asked, Reason::approval_denied, "");
      case Approvals::State::timed_out:
        co_return refusal_for(asked, Reason::approval_timeout,
                              "ask for it again while somebody looks at `warder approve`");
      case Approvals::State::outdated: co_return outdated(asked);
      case Approvals::State::overdue: co_await record_timeout(exchange, ticket); break;
      case Approvals::State::waiting: tell(exchange, question, ticket, now); break;
    }
  }
}

}  // namespace

Turn turn_of(const Verdict& asked, const Verdict& now) {
  switch (now.decision) {
    case Decision::deny: return Turn::denied;
    case Decision::allow: return Turn::free;
    case Decision::ask: break;
  }
  return now.rule == asked.rule && now.where == asked.where ? Turn::same : Turn::changed;
}

audit::Approval approval_of(const std::string& session, const Approvals::Asked& asked) {
  audit::Approval approval;
  approval.session = session;
  approval.id = asked.id;
  approval.rule = asked.question.rule;
  approval.where = asked.question.where;
  approval.method = asked.question.method;
  approval.authority = asked.question.authority;
  approval.path = asked.question.path;
  approval.fields_sha256 = asked.question.fields_sha256;
  approval.body_sha256 = asked.question.body_sha256;
  approval.count = asked.count;
  return approval;
}

Task<std::optional<Refusal>> await_approval(Exchange& exchange, const Judgement& judged) {
  Approvals& approvals = exchange.session.approvals;
  const Verdict& verdict = judged.verdict;
  const auto standing =
      approvals.standing_yes(verdict.rule, verdict.where, std::chrono::steady_clock::now());
  if (standing) {
    exchange.approval = *standing;
    co_return std::nullopt;
  }
  const auto too_many = [&] {
    return refusal_for(judged.verdict, Reason::limit_exceeded,
                       "too many requests of this sandbox wait for an answer: let some be answered "
                       "(`warder approve`)");
  };
  const HeldPlace place(approvals);
  if (!place.taken) co_return too_many();
  auto unread = co_await read_ahead(exchange);
  if (unread) co_return std::move(*unread);
  const Question question = question_of(exchange, judged);
  SystemRandom random;
  const auto ticket = approvals.ask(question, std::chrono::steady_clock::now(), random);
  if (!ticket) co_return too_many();
  const Ticketed held(approvals, *ticket);
  co_return co_await answer_to(exchange, judged.verdict, question, *ticket);
}

}  // namespace warder
