#include "proxy/origin_pool.hpp"

#include <poll.h>

#include <algorithm>

#include "proxy/origin_slot.hpp"

namespace warder {
namespace {

constexpr std::chrono::milliseconds kSettingsWait{500};

// A place in a line, until leave() or the end. Who is next is woken then.
class InLine {
 public:
  InLine(std::list<OriginWait*>& line, OriginWait& wait)
      : line_(line), place_(line.insert(line.end(), &wait)) {}
  InLine(const InLine&) = delete;
  ~InLine() { leave(); }
  bool is_first() const { return place_ == line_.begin(); }
  void leave() {
    if (std::exchange(left_, true)) return;
    line_.erase(place_);
    if (!line_.empty()) line_.front()->wake();
  }

 private:
  std::list<OriginWait*>& line_;
  const std::list<OriginWait*>::iterator place_;
  bool left_ = false;
};

// A place in the queue for the authority's next connection, over all workers.
class Queued {
 public:
  Queued(OriginQuota& quota, std::string authority, OriginQuota::Ticket ticket)
      : quota_(quota), authority_(std::move(authority)), ticket_(ticket) {
    quota_.wait(authority_, ticket_);
  }
  Queued(const Queued&) = delete;
  ~Queued() { quota_.leave(authority_, ticket_); }

 private:
  OriginQuota& quota_;
  const std::string authority_;
  const OriginQuota::Ticket ticket_;
};

// While a dial goes on that the others in line wait for.
class Dialling {
 public:
  explicit Dialling(OriginGroup& group) : group_(group) { group_.dialling = true; }
  Dialling(const Dialling&) = delete;
  ~Dialling() {
    group_.dialling = false;
    group_.dial_ended = std::chrono::steady_clock::now();
    for (OriginWait* wait : group_.h2_line) wait->wake();
  }

 private:
  OriginGroup& group_;
};

void wake_first(OriginGroup& group) {
  for (auto* line : {&group.h1_line, &group.h2_line}) {
    if (!line->empty()) line->front()->wake();
  }
}

bool is_readable(H1Connection& connection) {
  pollfd waiting{connection.upstream.stream->socket().native_handle(), POLLIN | POLLRDHUP, 0};
  return ::poll(&waiting, 1, 0) != 0;
}

bool is_open(const std::shared_ptr<H2Connection>& connection) {
  return connection->peer->is_open();
}

}  // namespace

// A connection that was just opened; an HTTP/2 one is in its group already.
struct OriginPool::Opened {
  std::unique_ptr<H1Connection> h1;
  std::shared_ptr<H2Connection> h2;
};

// What await_turn() came to. Neither: there is something to look at.
struct OriginPool::Turn {
  std::shared_ptr<OriginSlot> slot;  // dial
  std::optional<DialFailure> failure;
};

std::shared_ptr<OriginPool> SessionOrigins::pool_on(Worker& worker, Gateway& gateway,
                                                    const std::shared_ptr<Session>& session) {
  SessionOrigins& self = session->origins;
  const std::scoped_lock lock(self.mutex_);
  for (auto& [of, pool] : self.pools_) {
    if (of != &worker) continue;
    if (auto held = pool.lock()) return held;
    auto made = OriginPool::make(worker, gateway, session);
    pool = made;
    return made;
  }
  auto made = OriginPool::make(worker, gateway, session);
  self.pools_.emplace_back(&worker, made);
  return made;
}

std::shared_ptr<OriginPool> OriginPool::make(Worker& worker, Gateway& gateway,
                                             std::shared_ptr<Session> session) {
  auto made = std::make_shared<OriginPool>(worker, gateway, std::move(session));
  worker.spawn(keep(made));
  return made;
}

OriginPool::OriginPool(Worker& worker, Gateway& gateway, std::shared_ptr<Session> session)
    : worker_(worker),
      gateway_(gateway),
      session_(std::move(session)),
      tick_(worker.loop()),
      place_(worker.enlist(*this)) {}

OriginPool::~OriginPool() {
  session_->origins.quota.idle -= counted_idle_;
  worker_.delist(place_);
}

// Owns the pool between the connections of its clients, and does what may destroy a connection: a sweep must not.
Task<> OriginPool::keep(std::shared_ptr<OriginPool> self) {
  while (!self->closed_) {
    self->tick_.expires_at(SteadyTime::max());
    (void)co_await self->tick_.async_wait(as_result);
    if (!self->closed_) self->tidy(std::chrono::steady_clock::now());
  }
  for (auto& [name, group] : self->groups_) {
    group->idle.clear();
    group->h2.clear();
  }
}

void OriginPool::on_sweep(SteadyTime) {
  if (session_->life == Life::ended)
    close();
  else if (!groups_.empty())
    tick_.cancel();
}

void OriginPool::close() {
  if (std::exchange(closed_, true)) return;
  for (Stream* stream : open_) stream->close();
  for (auto& [name, group] : groups_) {
    for (auto* line : {&group->h1_line, &group->h2_line}) {
      for (OriginWait* wait : *line) wait->wake();
    }
  }
  tick_.cancel();
}

OriginPool::GroupPtr OriginPool::group_of(const OriginKey& key) {
  GroupPtr& group = groups_[key.str()];
  if (!group) {
    group = std::make_shared<OriginGroup>(key);
    group->speaks_h1 = gateway_.versions.find(key.authority) == HttpVersion::http11;
  }
  return group;
}

void OriginPool::wake_all_for(const std::string& authority) {
  const std::string prefix = authority + ' ';
  for (auto it = groups_.lower_bound(prefix); it != groups_.end(); ++it) {
    if (!it->first.starts_with(prefix)) return;
    wake_first(*it->second);
  }
}

std::optional<DialFailure> OriginPool::is_over(const OriginWait& wait) const {
  if (closed_) return DialFailure{Reason::session_ended, "the session ends"};
  if (wait.is_closed()) return DialFailure{Reason::client_broken, ""};
  return std::nullopt;
}

std::shared_ptr<OriginSlot> OriginPool::take_slot(OriginGroup& group, const OriginWait& wait) {
  OriginQuota& quota = session_->origins.quota;
  const OriginQuota::Ticket ticket{&wait, this};
  const OriginQuota::Most most{gateway_.upstream.pool.per_authority, gateway_.files.of_each()};
  const bool taken = quota.take(group.authority, most, ticket) ||
                     (drop_one_of(group.authority) && quota.take(group.authority, most, ticket)) ||
                     (drop_oldest() && quota.take(group.authority, most, ticket));
  if (!taken) return nullptr;
  return std::make_shared<OriginSlot>(shared_from_this(), session_, group.authority);
}

std::unique_ptr<H1Connection> OriginPool::take_idle(OriginGroup& group) {
  while (!group.idle.empty()) {
    auto connection = std::move(group.idle.back());
    group.idle.pop_back();
    note_idle(-1);
    if (!connection->is_stale()) return connection;
  }
  return nullptr;
}

std::shared_ptr<H2Connection> OriginPool::take_h2(OriginGroup& group) {
  std::erase_if(group.h2, [](const auto& connection) { return !is_open(connection); });
  for (const auto& connection : group.h2) {
    if (connection->peer->takes_stream(connection->promised)) return connection;
  }
  return nullptr;
}

std::unique_ptr<OriginLeg> OriginPool::leg_on(GroupPtr group,
                                              std::unique_ptr<H1Connection> connection) {
  auto give_back = [self = shared_from_this(), group](std::unique_ptr<H1Connection> back) {
    self->put_idle(*group, std::move(back));
  };
  return std::make_unique<H1Origin>(std::move(connection), gateway_.upstream.idle_timeout,
                                    std::move(give_back));
}

std::unique_ptr<OriginLeg> OriginPool::leg_on(GroupPtr group,
                                              std::shared_ptr<H2Connection> connection) {
  auto on_end = [self = shared_from_this(), group] { wake_first(*group); };
  return std::make_unique<H2Origin>(std::move(connection), gateway_.upstream.idle_timeout,
                                    std::move(on_end));
}

std::unique_ptr<OriginLeg> OriginPool::leg_on(GroupPtr group, Opened opened) {
  if (opened.h2) return leg_on(std::move(group), std::move(opened.h2));
  return leg_on(std::move(group), std::move(opened.h1));
}

std::unique_ptr<OriginLeg> OriginPool::take_kept(const OriginKey& key, HttpVersion newest) {
  const GroupPtr group = group_of(key);
  if (closed_) return nullptr;
  if (newest == HttpVersion::http2 && !group->speaks_h1) {
    auto shared = take_h2(*group);
    return shared ? leg_on(group, std::move(shared)) : nullptr;
  }
  auto kept = take_idle(*group);
  return kept ? leg_on(group, std::move(kept)) : nullptr;
}

Task<std::variant<OriginPool::Opened, DialFailure>> OriginPool::open(
    std::shared_ptr<OriginPool> self, GroupPtr group, HttpVersion newest,
    std::shared_ptr<OriginSlot> slot) {
  std::shared_ptr<TlsSessions> sessions(self->session_, &self->session_->origins.tls);
  auto opened = co_await open_upstream(self->worker_, self->gateway_, group->key, newest,
                                       std::move(sessions), self->session_->life);
  if (auto* failure = std::get_if<DialFailure>(&opened)) co_return std::move(*failure);
  if (self->closed_) co_return DialFailure{Reason::session_ended, "the session ends"};
  Upstream& made = std::get<Upstream>(opened);
  slot->fill(*made.stream);
  made.slot = std::move(slot);
  Gateway& gateway = self->gateway_;
  if (newest == HttpVersion::http2) {
    gateway.versions.learn(made.key.authority, made.version);
    group->speaks_h1 = made.version != HttpVersion::http2;
  }
  Opened outcome;
  if (made.version != HttpVersion::http2) {
    outcome.h1 = std::make_unique<H1Connection>(std::move(made), gateway.limits.head);
    outcome.h1->revocations = self->session_->secrets.revocations();
    co_return std::move(outcome);
  }
  made.stream->limit_writes(gateway.upstream.idle_timeout);
  outcome.h2 = std::make_shared<H2Connection>(self->worker_, std::move(made), gateway.limits.head);
  group->h2.push_back(outcome.h2);
  H2Connection::run(outcome.h2, self->worker_, gateway.upstream.pool.idle);
  co_return std::move(outcome);
}

// In line for an origin that may speak HTTP/2, until a stream is free (`for_stream`; else until anything is known), or it
// is our turn to dial. Many may ask at once: one dials, and what it finds is for all of them.
Task<OriginPool::Turn> OriginPool::await_turn(std::shared_ptr<OriginPool> self, GroupPtr group,
                                              OriginWait& wait, bool for_stream) {
  const SteadyDuration patience = self->gateway_.upstream.connect_timeout;
  const SteadyTime began = std::chrono::steady_clock::now();
  InLine line(group->h2_line, wait);
  std::optional<Queued> queued;
  Turn turn;
  for (;;) {
    turn.failure = wait.failure ? wait.failure : self->is_over(wait);
    if (turn.failure || group->speaks_h1) co_return std::move(turn);
    if (!for_stream && std::any_of(group->h2.begin(), group->h2.end(), is_open))
      co_return std::move(turn);
    if (line.is_first()) {
      if (for_stream && !group->h2.empty()) {
        // How many streams a connection takes is known with its SETTINGS, not before.
        const std::shared_ptr<H2Connection> newest = group->h2.back();
        co_await newest->peer->wait_until_heard(kSettingsWait);
        if (self->take_h2(*group)) co_return std::move(turn);
      }
      if (!group->dialling && !self->closed_) turn.slot = self->take_slot(*group, wait);
      if (turn.slot) co_return std::move(turn);
      if (!group->dialling && !queued) {
        const OriginQuota::Ticket ticket{&wait, self.get()};
        queued.emplace(self->session_->origins.quota, group->authority, ticket);
      }
    }
    SteadyTime until = SteadyTime::max();
    if (!group->dialling) until = std::max(began, group->dial_ended) + patience;
    if (std::chrono::steady_clock::now() >= until) {
      turn.failure = DialFailure{Reason::limit_exceeded,
                                 "no connection to " + group->authority + " became free"};
      co_return std::move(turn);
    }
    co_await wait.sleep_until(until);
  }
}

// An HTTP/1.1 connection: an idle one, or a new one of our own.
Task<OriginPool::Acquired> OriginPool::acquire_own(std::shared_ptr<OriginPool> self, GroupPtr group,
                                                   HttpVersion newest, OriginWait& wait) {
  const SteadyTime until =
      std::chrono::steady_clock::now() + self->gateway_.upstream.connect_timeout;
  std::shared_ptr<OriginSlot> slot;
  {
    InLine line(group->h1_line, wait);
    std::optional<Queued> queued;
    while (!slot) {
      if (auto over = self->is_over(wait)) co_return std::move(*over);
      if (line.is_first()) {
        auto kept = wait.wants_new ? nullptr : self->take_idle(*group);
        if (kept) co_return self->leg_on(group, std::move(kept));
        slot = self->take_slot(*group, wait);
        if (slot) break;
        if (!queued) {
          const OriginQuota::Ticket ticket{&wait, self.get()};
          queued.emplace(self->session_->origins.quota, group->authority, ticket);
        }
      }
      if (std::chrono::steady_clock::now() >= until) {
        DialFailure failure{Reason::limit_exceeded,
                            "no connection to " + group->authority + " became free"};
        co_return std::move(failure);
      }
      co_await wait.sleep_until(until);
    }
  }
  auto opened = co_await open(self, group, newest, std::move(slot));
  if (auto* failure = std::get_if<DialFailure>(&opened)) {
    group->only_h2 = failure->wants_h2;
    co_return std::move(*failure);
  }
  co_return self->leg_on(group, std::move(std::get<Opened>(opened)));
}

Task<OriginPool::Acquired> OriginPool::acquire(std::shared_ptr<OriginPool> self, OriginKey key,
                                               HttpVersion newest, OriginWait& wait) {
  const GroupPtr group = self->group_of(key);
  const bool offers_h2 = newest == HttpVersion::http2 && key.authority.scheme == Scheme::https;
  while (offers_h2 && !group->speaks_h1) {
    auto turn = co_await await_turn(self, group, wait, true);
    if (turn.failure) co_return std::move(*turn.failure);
    if (turn.slot) {
      const Dialling dialling(*group);
      auto opened = co_await open(self, group, newest, std::move(turn.slot));
      if (auto* failure = std::get_if<DialFailure>(&opened)) {
        for (OriginWait* other : group->h2_line) other->failure = *failure;
        co_return std::move(*failure);
      }
      co_return self->leg_on(group, std::move(std::get<Opened>(opened)));
    }
    if (auto shared = self->take_h2(*group)) co_return self->leg_on(group, std::move(shared));
  }
  if (group->only_h2) {
    DialFailure known{Reason::upstream_tls_failed, "the origin speaks HTTP/2 alone", true};
    co_return std::move(known);
  }
  co_return co_await acquire_own(self, group, newest, wait);
}

Task<std::variant<HttpVersion, DialFailure>> OriginPool::probe(std::shared_ptr<OriginPool> self,
                                                               OriginKey key, Permit permit,
                                                               OriginWait& wait) {
  const GroupPtr group = self->group_of(key);
  auto turn = co_await await_turn(self, group, wait, false);
  if (turn.failure) co_return std::move(*turn.failure);
  if (!turn.slot) co_return group->speaks_h1 ? HttpVersion::http11 : HttpVersion::http2;
  const Dialling dialling(*group);
  if (!co_await permit()) co_return HttpVersion::http11;
  auto opened = co_await open(self, group, HttpVersion::http2, std::move(turn.slot));
  if (auto* failure = std::get_if<DialFailure>(&opened)) {
    for (OriginWait* other : group->h2_line) other->failure = *failure;
    co_return std::move(*failure);
  }
  Opened& made = std::get<Opened>(opened);
  if (made.h2) co_return HttpVersion::http2;
  self->put_idle(*group, std::move(made.h1));
  co_return HttpVersion::http11;
}

// A connection between two exchanges. Nobody may have to wait for it elsewhere, and it must have said nothing.
void OriginPool::put_idle(OriginGroup& group, std::unique_ptr<H1Connection> connection) {
  const bool wanted = session_->origins.quota.is_wanted_elsewhere(group.authority, this);
  const bool retired = connection->revocations != session_->secrets.revocations();
  if (closed_ || wanted || retired || !connection->input.empty()) {
    connection->upstream.stream->shutdown_write();
    return;
  }
  connection->idle_since = std::chrono::steady_clock::now();
  group.idle.push_back(std::move(connection));
  note_idle(1);
  wake_first(group);
  drop_beyond_limit();
}

void OriginPool::drop(OriginGroup& group, std::size_t place) {
  group.idle[place]->upstream.stream->shutdown_write();
  group.idle.erase(group.idle.begin() + static_cast<std::ptrdiff_t>(place));
  note_idle(-1);
}

// Makes room for another connection to this authority by one that carries nothing. HTTP/2 takes leave first.
bool OriginPool::drop_one_of(const std::string& authority) {
  const std::string prefix = authority + ' ';
  for (auto it = groups_.lower_bound(prefix); it != groups_.end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    OriginGroup& group = *it->second;
    if (!group.idle.empty()) {
      drop(group, 0);
      return true;
    }
    for (const auto& connection : group.h2) {
      if (connection->is_idle() && is_open(connection)) connection->peer->leave();
    }
  }
  return false;
}

void OriginPool::note_idle(std::ptrdiff_t more) {
  counted_idle_ += static_cast<std::size_t>(more);
  session_->origins.quota.idle += static_cast<std::size_t>(more);
}

// The one that has been idle for longest goes.
bool OriginPool::drop_oldest() {
  OriginGroup* oldest = nullptr;
  for (const auto& [name, group] : groups_) {
    if (group->idle.empty()) continue;
    if (oldest == nullptr || group->idle.front()->idle_since < oldest->idle.front()->idle_since)
      oldest = group.get();
  }
  if (oldest != nullptr) drop(*oldest, 0);
  return oldest != nullptr;
}

void OriginPool::drop_beyond_limit() {
  const std::size_t most =
      std::min<std::size_t>(gateway_.upstream.pool.per_session, gateway_.files.of_each() / 2);
  while (session_->origins.quota.idle > most) {
    if (!drop_oldest()) return;
  }
}

// A secret was revoked: whichever connection it was used on carries nothing new.
void OriginPool::retire() {
  const std::uint64_t revocations = session_->secrets.revocations();
  if (std::exchange(revocations_, revocations) == revocations) return;
  for (auto& [name, group] : groups_) {
    while (!group->idle.empty()) drop(*group, group->idle.size() - 1);
    for (const auto& connection : group->h2) connection->peer->leave();
  }
}

void OriginPool::tidy(SteadyTime now) {
  retire();
  std::size_t idle = 0;
  for (auto it = groups_.begin(); it != groups_.end();) {
    OriginGroup& group = *it->second;
    tidy_group(group, now);
    idle += group.idle.size();
    for (const auto& connection : group.h2) idle += connection->is_idle() ? 1 : 0;
    const bool empty = group.idle.empty() && group.h2.empty() && it->second.use_count() == 1;
    it = empty ? groups_.erase(it) : std::next(it);
  }
  note_idle(static_cast<std::ptrdiff_t>(idle) - static_cast<std::ptrdiff_t>(counted_idle_));
  drop_beyond_limit();
}

void OriginPool::tidy_group(OriginGroup& group, SteadyTime now) {
  for (std::size_t i = group.idle.size(); i-- > 0;) {
    H1Connection& connection = *group.idle[i];
    const bool old = now - connection.idle_since >= gateway_.upstream.pool.idle;
    if (old || (is_readable(connection) && connection.is_stale())) drop(group, i);
  }
  std::erase_if(group.h2, [](const auto& connection) { return !is_open(connection); });
  if (session_->origins.quota.is_wanted_elsewhere(group.authority, this))
    (void)drop_one_of(group.authority);
  wake_first(group);
}

}  // namespace warder
