// What one session keeps open to its origins on one worker. Every client connection of the session there shares it: an
// HTTP/1.1 connection carries one exchange at a time and is kept for the next, an HTTP/2 one carries many at once.
// It lives as long as its session: two sessions never share a connection.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "proxy/h1_origin.hpp"
#include "proxy/h2_origin.hpp"
#include "proxy/session.hpp"
#include "proxy/upstream.hpp"

namespace warder {

// One that waits for a connection. Closing it gives the wait up: what a client that goes away does.
class OriginWait final : public Closable {
 public:
  explicit OriginWait(asio::io_context& loop) : wake_(loop) {}
  void close() override {
    closed_ = true;
    wake_.cancel();
  }
  bool is_closed() const { return closed_; }
  void wake() { wake_.cancel(); }
  Task<> sleep_until(SteadyTime time) {
    wake_.expires_at(time);
    (void)co_await wake_.async_wait(as_result);
  }
  // What a dial came to that was for all who waited.
  std::optional<DialFailure> failure;
  // A kept connection has just failed: the others may be as old.
  bool wants_new = false;

 private:
  asio::steady_timer wake_;
  bool closed_ = false;
};

// The connections for one key.
struct OriginGroup {
  explicit OriginGroup(OriginKey of) : key(std::move(of)), authority(key.authority.origin()) {}

  const OriginKey key;
  const std::string authority;
  std::vector<std::unique_ptr<H1Connection>> idle;  // the newest last
  std::vector<std::shared_ptr<H2Connection>> h2;    // one, unless the origin allows too few streams
  std::list<OriginWait*> h1_line;                   // each for a connection of its own
  std::list<OriginWait*> h2_line;                   // for a stream, or for the dial that tells
  bool dialling = false;                            // a connection that may turn out to be for all
  bool speaks_h1 = false;                           // it chose HTTP/1.1 when it was offered both
  bool only_h2 = false;                             // it refused to speak anything else
  SteadyTime dial_ended{};
};

class OriginPool final : public Swept, public std::enable_shared_from_this<OriginPool> {
 public:
  using Acquired = std::variant<std::unique_ptr<OriginLeg>, DialFailure>;
  using Permit = std::function<Task<bool>()>;

  static std::shared_ptr<OriginPool> make(Worker& worker, Gateway& gateway,
                                          std::shared_ptr<Session> session);
  OriginPool(Worker& worker, Gateway& gateway, std::shared_ptr<Session> session);
  ~OriginPool() override;
  OriginPool(const OriginPool&) = delete;

  // A verified leg: on a kept connection if one fits, else on a new one, of `newest` or HTTP/1.1 as the origin chooses.
  // At the limit of connections it waits its turn, for connect_timeout at most.
  static Task<Acquired> acquire(std::shared_ptr<OriginPool> self, OriginKey key, HttpVersion newest,
                                OriginWait& wait);
  // What the origin speaks, by a dial if nothing here tells, whose connection is kept. Before it dials `permit` is
  // asked; where that says no, the answer is HTTP/1.1.
  static Task<std::variant<HttpVersion, DialFailure>> probe(std::shared_ptr<OriginPool> self,
                                                            OriginKey key, Permit permit,
                                                            OriginWait& wait);
  // A kept connection, or nullptr.
  std::unique_ptr<OriginLeg> take_kept(const OriginKey& key, HttpVersion newest);

  // Session ended, or the worker stops: closes everything, busy or not.
  void close() override;
  void on_sweep(SteadyTime now) override;

  // For OriginSlot.
  using Open = std::list<Stream*>;
  Open::iterator add_open(Stream& stream) { return open_.insert(open_.end(), &stream); }
  void remove_open(Open::iterator place) { open_.erase(place); }
  void wake_all_for(const std::string& authority);

 private:
  struct Opened;
  struct Turn;
  using GroupPtr = std::shared_ptr<OriginGroup>;

  static Task<> keep(std::shared_ptr<OriginPool> self);
  static Task<Turn> await_turn(std::shared_ptr<OriginPool> self, GroupPtr group, OriginWait& wait,
                               bool for_stream);
  static Task<Acquired> acquire_own(std::shared_ptr<OriginPool> self, GroupPtr group,
                                    HttpVersion newest, OriginWait& wait);
  static Task<std::variant<Opened, DialFailure>> open(std::shared_ptr<OriginPool> self,
                                                      GroupPtr group, HttpVersion newest,
                                                      std::shared_ptr<OriginSlot> slot);
  GroupPtr group_of(const OriginKey& key);
  std::optional<DialFailure> is_over(const OriginWait& wait) const;
  std::shared_ptr<OriginSlot> take_slot(OriginGroup& group, const OriginWait& wait);
  std::unique_ptr<H1Connection> take_idle(OriginGroup& group);
  std::shared_ptr<H2Connection> take_h2(OriginGroup& group);
  std::unique_ptr<OriginLeg> leg_on(GroupPtr group, std::unique_ptr<H1Connection> connection);
  std::unique_ptr<OriginLeg> leg_on(GroupPtr group, std::shared_ptr<H2Connection> connection);
  std::unique_ptr<OriginLeg> leg_on(GroupPtr group, Opened opened);
  void put_idle(OriginGroup& group, std::unique_ptr<H1Connection> connection);
  void drop(OriginGroup& group, std::size_t place);
  bool drop_one_of(const std::string& authority);
  bool drop_oldest();
  void drop_beyond_limit();
  void retire();
  void tidy(SteadyTime now);
  void tidy_group(OriginGroup& group, SteadyTime now);
  void note_idle(std::ptrdiff_t more);

  Worker& worker_;
  Gateway& gateway_;
  const std::shared_ptr<Session> session_;
  std::map<std::string, GroupPtr> groups_;  // by OriginKey::str()
  Open open_;                               // every connection, idle or busy
  std::size_t counted_idle_ = 0;   // our part of the session's; HTTP/2 as of the last sweep
  std::uint64_t revocations_ = 0;  // of the session's secrets, that were looked at
  bool closed_ = false;
  asio::steady_timer tick_;
  Worker::Place place_;  // last: a worker that is stopping closes this at once
};

}  // namespace warder
