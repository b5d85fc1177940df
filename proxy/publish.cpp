#include "proxy/publish.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>

#include "proxy/file_budget.hpp"
#include "proxy/input.hpp"
#include "proxy/stream.hpp"

namespace warder {
namespace {

constexpr std::uint64_t kFilesForEach =
    8;  // it holds two; the gateway's own connections need theirs
constexpr std::chrono::seconds kConnect{10};
constexpr std::chrono::hours kIdle{1};  // without a byte in either direction
constexpr std::chrono::milliseconds kBreath{50};
constexpr std::chrono::milliseconds kStopGrace{1'000};

class Listener final : public Swept {
 public:
  Listener(Worker& worker, Fd socket)
      : worker_(worker), acceptor_(worker.loop()), place_(worker.enlist(*this)) {
    int domain = AF_INET;
    socklen_t size = sizeof domain;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size);
    error_code ignored;
    acceptor_.assign(domain == AF_INET6 ? tcp::v6() : tcp::v4(), socket.release(), ignored);
  }
  ~Listener() override { worker_.delist(place_); }
  Listener(const Listener&) = delete;
  void on_sweep(SteadyTime) override {}
  void close() override {
    error_code ignored;
    acceptor_.close(ignored);
  }
  tcp::acceptor& acceptor() { return acceptor_; }

 private:
  Worker& worker_;
  tcp::acceptor acceptor_;
  Worker::Place place_;
};

Task<> breathe(Worker& worker) {
  asio::steady_timer pause(worker.loop(), kBreath);
  (void)co_await pause.async_wait(as_result);
}

tcp::endpoint loopback(bool ipv6, std::uint16_t port) {
  if (ipv6) return {asio::ip::address_v6::loopback(), port};
  return {asio::ip::address_v4::loopback(), port};
}

error_code outcome_of(tcp::socket& socket) {
  int failed = 0;
  socklen_t size = sizeof failed;
  ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_ERROR, &failed, &size);
  return error_code(failed, boost::system::system_category());
}

// Null: nobody listens there, or does not answer in time.
Task<std::unique_ptr<Stream>> dial_inside(Worker& worker, Fd made, bool ipv6, std::uint16_t port) {
  if (!made) co_return nullptr;
  tcp::socket socket(worker.loop());
  error_code error;
  socket.assign(ipv6 ? tcp::v6() : tcp::v4(), made.release(), error);
  if (error) co_return nullptr;
  const tcp::endpoint to = loopback(ipv6, port);
  const int returned =
      ::connect(socket.native_handle(), to.data(), static_cast<socklen_t>(to.size()));
  if (returned != 0 && errno != EINPROGRESS) co_return nullptr;
  auto stream = std::make_unique<Stream>(worker, std::move(socket));
  if (returned == 0) co_return std::move(stream);
  stream->limit_writes(kConnect);
  const auto ready = co_await stream->wait_to_write(Stream::kWantWrite);
  if (!ready || outcome_of(stream->socket())) co_return nullptr;
  co_return std::move(stream);
}

struct Way {
  Stream& from;
  Stream& to;
  Input input{};
  std::uint64_t bytes = 0;
  bool said_all = false;  // `from` ended cleanly, and all of it has left
};

struct Pair {
  Pair(Worker& worker, Stream& host, Stream& inside)
      : up{host, inside}, down{inside, host}, finished(worker.loop(), SteadyTime::max()) {}
  Way up;
  Way down;
  SteadyTime last_byte = std::chrono::steady_clock::now();
  Reason broken = Reason::none;  // the first that was seen
  bool is_up_running = true;
  asio::steady_timer finished;  // cancelled when is_up_running turns false
};

// The other direction was alive meanwhile: the wait begins anew.
bool may_wait_on(Pair& pair, Way& way, error_code error) {
  if (error != IoError::timed_out) return false;
  const SteadyDuration left = pair.last_byte + kIdle - std::chrono::steady_clock::now();
  if (left <= SteadyDuration::zero()) return false;
  way.from.limit_reads(left);
  way.to.limit_writes(left);
  return true;
}

void note_broken(Pair& pair, error_code error, Reason otherwise) {
  if (pair.broken != Reason::none) return;
  pair.broken = error == IoError::closed      ? Reason::session_ended
                : error == IoError::timed_out ? Reason::upstream_timeout
                                              : otherwise;
}

// False: `to` takes no more. What it said before is still on its way: the other direction ends with it.
Task<bool> pass_on(Pair& pair, Way& way, Reason otherwise) {
  while (!way.input.empty()) {
    const int n = way.to.try_write(way.input.view());
    if (n > 0) {
      way.bytes += static_cast<std::uint64_t>(n);
      way.input.keep(way.input.view().substr(static_cast<std::size_t>(n)));
      pair.last_byte = std::chrono::steady_clock::now();
      continue;
    }
    error_code error = way.to.write_error();
    if (n != Stream::kEnded) {
      const auto ready = co_await way.to.wait_to_write(n);
      if (ready || may_wait_on(pair, way, ready.error())) continue;
      error = ready.error();
    }
    note_broken(pair, error, otherwise);
    co_return false;
  }
  co_return true;
}

Task<> run_way(Pair& pair, Way& way, Reason of_from, Reason of_to) {
  for (;;) {
    const bool passed = co_await pass_on(pair, way, of_to);
    if (!passed) co_return;
    const auto filled = co_await way.input.fill(way.from);
    if (filled) {
      pair.last_byte = std::chrono::steady_clock::now();
      continue;
    }
    if (may_wait_on(pair, way, filled.error())) continue;
    if (filled.error() == IoError::end_of_stream) {
      way.said_all = true;
      way.to.shutdown_write();
      co_return;
    }
    note_broken(pair, filled.error(), of_from);
    way.to.abort();  // a reset is a reset on the other side
    co_return;
  }
}

Task<> run_up(Pair& pair) {
  co_await run_way(pair, pair.up, Reason::client_broken, Reason::upstream_broken);
  pair.is_up_running = false;
  pair.finished.cancel();
}

// True: what the service said is on its way to its end, whatever became of what it was told.
Task<bool> relay_both(Worker& worker, Stream& host, Stream& inside, PublishedEnd& end) {
  for (Stream* stream : {&host, &inside}) {
    stream->limit_reads(kIdle);
    stream->limit_writes(kIdle);
  }
  Pair pair(worker, host, inside);
  worker.spawn(run_up(pair));
  co_await run_way(pair, pair.down, Reason::upstream_broken, Reason::client_broken);
  if (!pair.down.said_all) {  // nothing can come back any more
    host.abort();
    inside.abort();
  }
  while (pair.is_up_running) (void)co_await pair.finished.async_wait(as_result);
  end.up = pair.up.bytes;
  end.down = pair.down.bytes;
  end.reason = pair.broken;
  co_return pair.down.said_all;
}

std::chrono::microseconds since(SteadyTime began) {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                               began);
}

}  // namespace

Publisher::Publisher(MakeInside make, PublishRecorder& recorder)
    : make_(std::move(make)),
      recorder_(recorder),
      most_(std::min(kMostConnections, FileBudget::of_process() / kFilesForEach)) {
  worker_.start();
}

Publisher::~Publisher() { stop(); }

void Publisher::stop() { worker_.stop(kStopGrace); }

void Publisher::serve(PublishedPort port, Fd listener) {
  auto held = std::make_shared<Task<>>(accept(std::move(port), std::move(listener)));
  asio::post(worker_.loop(), [this, held] { worker_.spawn(std::move(*held)); });
}

Task<> Publisher::accept(PublishedPort port, Fd listener) {
  // Outlives this loop in the relays that it began.
  const auto kept = std::make_shared<const PublishedPort>(std::move(port));
  Listener listening(worker_, std::move(listener));
  for (;;) {
    while (open_ >= most_ && listening.acceptor().is_open()) co_await breathe(worker_);
    if (!listening.acceptor().is_open()) co_return;
    auto [error, accepted] = co_await listening.acceptor().async_accept(worker_.loop(), as_result);
    if (!listening.acceptor().is_open()) co_return;
    if (error) {  // typically EMFILE
      co_await breathe(worker_);
      continue;
    }
    ++open_;
    worker_.spawn(relay(kept, std::move(accepted)));
  }
}

Task<> Publisher::relay(std::shared_ptr<const PublishedPort> port, tcp::socket socket) {
  const SteadyTime began = std::chrono::steady_clock::now();
  Stream host(worker_, std::move(socket));
  const auto ticket = co_await recorder_.begin(*port);
  if (!ticket) {
    host.abort();
    --open_;
    co_return;
  }
  PublishedEnd end;
  std::unique_ptr<Stream> inside;
  for (const bool ipv6 : {false, true}) {
    if (inside != nullptr || !host.is_open()) continue;
    Fd made = make_(ipv6);
    inside = co_await dial_inside(worker_, std::move(made), ipv6, port->port);
    if (inside != nullptr)
      end.upstream = (ipv6 ? "[::1]:" : "127.0.0.1:") + std::to_string(port->port);
  }
  end.connect = since(began);
  end.reason = Reason::upstream_connect_failed;
  bool said_all = false;
  if (inside != nullptr) said_all = co_await relay_both(worker_, host, *inside, end);
  end.total = since(began);
  recorder_.end(*port, *ticket, end);
  if (end.reason != Reason::none && !said_all) host.abort();
  if (end.reason != Reason::none && inside != nullptr) inside->abort();
  --open_;
}

}  // namespace warder
