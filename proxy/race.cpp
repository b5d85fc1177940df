#include "proxy/race.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <deque>

namespace warder {
namespace {

constexpr std::string_view kLate = "no answer in time";

struct Started {
  tcp::socket socket;
  bool connected = false;
};

Result<Started> start(asio::io_context& loop, const VettedEndpoint& to) {
  Started started{tcp::socket(loop)};
  error_code error;
  started.socket.open(to.endpoint().protocol(), error);
  if (error) return error;
  started.socket.native_non_blocking(true, error);
  if (error) return error;
  const int returned = ::connect(started.socket.native_handle(), to.endpoint().data(),
                                 static_cast<socklen_t>(to.endpoint().size()));
  if (returned != 0 && errno != EINPROGRESS)
    return error_code(errno, boost::system::system_category());
  started.connected = returned == 0;
  return started;
}

error_code outcome_of(tcp::socket& socket) {
  int failed = 0;
  socklen_t size = sizeof failed;
  ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_ERROR, &failed, &size);
  return error_code(failed, boost::system::system_category());
}

Task<Dialled> connect_alone(Worker& worker, VettedEndpoint to, SteadyDuration limit,
                            const SessionLife* life) {
  Result<Started> started = start(worker.loop(), to);
  if (!started) {
    co_return DialFailure{Reason::upstream_connect_failed,
                          to.str() + ": " + started.error().message()};
  }
  auto stream = std::make_unique<Stream>(worker, std::move(started->socket));
  error_code error;
  if (!started->connected) {
    const EndsWithSession end(worker, life, *stream);
    stream->limit_writes(limit);
    auto ready = co_await stream->wait_to_write(Stream::kWantWrite);
    error = ready ? outcome_of(stream->socket()) : ready.error();
  }
  if (!error) co_return std::move(stream);
  const bool late = error == IoError::timed_out;
  DialFailure failure{late ? Reason::upstream_timeout : Reason::upstream_connect_failed,
                      to.str() + ": " + (late ? std::string(kLate) : error.message())};
  failure.was_refused = error == asio::error::connection_refused;
  co_return std::move(failure);
}

// Lives in the frame of connect_first(). One timer wakes it: for the next attempt, for the end of the time, and for
// every socket that has an outcome.
class Race final : public Swept {
 public:
  Race(Worker& worker, std::vector<VettedEndpoint> endpoints)
      : worker_(worker),
        endpoints_(std::move(endpoints)),
        bell_(worker.loop()),
        place_(worker.enlist(*this)) {}
  ~Race() override {
    *self_ = nullptr;
    worker_.delist(place_);
  }

  void close() override {
    closed_ = true;
    bell_.cancel();
  }
  void on_sweep(SteadyTime) override {}

  Task<Dialled> run(SteadyDuration limit) {
    const SteadyTime deadline = std::chrono::steady_clock::now() + limit;
    due_ = std::chrono::steady_clock::now();
    for (;;) {
      if (auto winner = look_at_outcomes()) co_return std::move(winner);
      if (closed_) co_return DialFailure{Reason::upstream_connect_failed, "the gateway is ending"};
      if (std::chrono::steady_clock::now() >= deadline) co_return failure();
      if (start_what_is_due()) continue;
      const bool more = next_ < endpoints_.size();
      if (!more && under_way_ == 0) co_return failure();
      bell_.expires_at(more ? std::min(due_, deadline) : deadline);
      (void)co_await bell_.async_wait(as_result);
    }
  }

 private:
  struct Attempt {
    const VettedEndpoint& to;
    tcp::socket socket;
    bool has_outcome = false;
    std::string failure{kLate};  // until it is known better
    bool was_refused = false;
  };

  // The connected one, if there is one. An attempt that failed makes the next one due.
  std::unique_ptr<Stream> look_at_outcomes() {
    for (Attempt& attempt : attempts_) {
      if (!attempt.has_outcome || !attempt.socket.is_open()) continue;
      const error_code error = outcome_of(attempt.socket);
      if (!error) return std::make_unique<Stream>(worker_, std::move(attempt.socket));
      error_code ignored;
      attempt.socket.close(ignored);
      attempt.failure = error.message();
      attempt.was_refused = error == asio::error::connection_refused;
      --under_way_;
      due_ = std::chrono::steady_clock::now();
    }
    return nullptr;
  }

  // True when there may be an outcome already.
  bool start_what_is_due() {
    while (next_ < endpoints_.size() && std::chrono::steady_clock::now() >= due_) {
      const VettedEndpoint& to = endpoints_[next_++];
      Result<Started> started = start(worker_.loop(), to);
      if (!started) {  // no route, no such family: the next one at once
        attempts_.push_back({to, tcp::socket(worker_.loop()), true, started.error().message()});
        continue;
      }
      attempts_.push_back({to, std::move(started->socket), started->connected});
      ++under_way_;
      due_ = std::chrono::steady_clock::now() + kAttemptDelay;
      if (started->connected) return true;
      await_outcome(attempts_.back());
    }
    return false;
  }

  // The handler may outlive this: it looks whether there still is somebody to tell. Attempts never move.
  void await_outcome(Attempt& attempt) {
    attempt.socket.async_wait(tcp::socket::wait_write, [self = self_, &attempt](error_code error) {
      if (error || *self == nullptr) return;
      attempt.has_outcome = true;
      (*self)->bell_.cancel();
    });
  }

  DialFailure failure() const {
    DialFailure all{Reason::upstream_connect_failed, {}};
    all.was_refused = true;
    for (const Attempt& attempt : attempts_) {
      if (attempt.failure == kLate) all.reason = Reason::upstream_timeout;
      all.was_refused = all.was_refused && attempt.was_refused;
      all.detail += (all.detail.empty() ? "" : "; ") + attempt.to.str() + ": " + attempt.failure;
    }
    return all;
  }

  Worker& worker_;
  const std::vector<VettedEndpoint> endpoints_;
  asio::steady_timer bell_;
  std::deque<Attempt> attempts_;
  std::size_t next_ = 0;       // the endpoint that is tried next
  std::size_t under_way_ = 0;  // attempts without an outcome
  SteadyTime due_{};           // when the next one may begin
  bool closed_ = false;
  std::shared_ptr<Race*> self_ = std::make_shared<Race*>(this);
  Worker::Place place_;  // last: a worker that is stopping closes this at once
};

}  // namespace

std::vector<VettedEndpoint> in_dialling_order(const std::vector<VettedEndpoint>& found) {
  std::vector<VettedEndpoint> first;
  std::vector<VettedEndpoint> second;
  for (const VettedEndpoint& endpoint : found)
    (endpoint.is_v4() == found.front().is_v4() ? first : second).push_back(endpoint);
  std::vector<VettedEndpoint> order;
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    for (const auto* family : {&first, &second}) {
      if (i < family->size() && order.size() < kMaxAttempts) order.push_back((*family)[i]);
    }
  }
  return order;
}

Task<Dialled> connect_first(Worker& worker, std::vector<VettedEndpoint> endpoints,
                            SteadyDuration limit, const SessionLife* life) {
  if (endpoints.size() == 1)
    co_return co_await connect_alone(worker, endpoints.front(), limit, life);
  Race race(worker, std::move(endpoints));
  const EndsWithSession end(worker, life, race);
  co_return co_await race.run(limit);
}

}  // namespace warder
