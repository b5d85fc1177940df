#include "proxy/h2_peer.hpp"

namespace warder {
namespace {

StreamId stream_of(const H2Event& event) {
  return std::visit(
      [](const auto& what) -> StreamId {
        if constexpr (requires { what.stream; })
          return what.stream;
        else
          return 0;
      },
      event);
}

}  // namespace

H2Peer::H2Peer(Worker& worker, Stream& stream, Input& input, H2Session::Role role, H2Limits limits)
    : worker_(worker),
      stream_(stream),
      input_(input),
      session_(role, limits),
      output_wake_(worker.loop(), SteadyTime::max()) {}

Task<bool> H2Peer::wait(asio::steady_timer& wake, SteadyTime deadline) {
  if (std::chrono::steady_clock::now() >= deadline) co_return false;
  wake.expires_at(deadline);
  auto [error] = co_await wake.async_wait(as_result);
  // Woken by cancel() there is something to look at; left alone until the deadline there is not.
  co_return static_cast<bool>(error);
}

H2Box& H2Peer::open(StreamId stream) {
  auto& box = boxes_[stream];
  if (!box) box = std::make_unique<H2Box>(worker_.loop());
  box->gone = box->gone || ended_;
  return *box;
}

void H2Peer::forget(StreamId stream) {
  boxes_.erase(stream);
  // An idle connection has a limit that a busy one has not: the reader looks again.
  if (boxes_.empty() && !ended_) stream_.interrupt_read();
}

void H2Peer::lose(H2Box& box, std::uint32_t code) {
  if (!box.gone) box.code = code;  // the first word counts: a connection may end behind it
  box.gone = true;
  if (box.watcher != nullptr) box.watcher->close();
  box.read_wake.cancel();
  box.write_wake.cancel();
}

void H2Peer::deliver(H2Event event, const OnRequest& on_request) {
  if (std::holds_alternative<H2GoAway>(event)) {
    draining_ = true;
    return;
  }
  const StreamId stream = stream_of(event);
  if (std::holds_alternative<H2RequestHead>(event) ||
      std::holds_alternative<H2HeadTooLarge>(event)) {
    if (on_request) on_request(std::move(event));
    return;
  }
  const auto found = boxes_.find(stream);
  if (found == boxes_.end()) {
    // Its exchange is over; the bytes still count against the connection's window.
    if (const auto* data = std::get_if<H2Data>(&event))
      session_.consume(stream, data->bytes.size());
    return;
  }
  H2Box& box = *found->second;
  if (const auto* reset = std::get_if<H2Reset>(&event)) {
    lose(box, reset->code);
  } else if (std::holds_alternative<H2Writable>(event)) {
    box.writable = true;
    box.write_wake.cancel();
  } else {
    box.events.push_back(std::move(event));
    box.read_wake.cancel();
  }
}

void H2Peer::take_events(const OnRequest& on_request) {
  while (auto event = session_.next()) deliver(std::move(*event), on_request);
}

void H2Peer::kick() {
  take_events(on_request_);
  while (!writing_ && !ended_) {
    const std::string_view out = session_.output();
    if (out.empty()) break;
    const int n = stream_.try_write(out);
    if (n <= 0) {
      output_wake_.cancel();
      break;
    }
    session_.wrote(static_cast<std::size_t>(n));
    take_events(on_request_);
  }
  take_events(on_request_);  // output() may have made some
}

Task<> H2Peer::wait_until_heard(SteadyDuration limit) {
  // Many may wait, and seldom for long: each looks now and then, by a timer of its own.
  asio::steady_timer pause(worker_.loop());
  const SteadyTime deadline = std::chrono::steady_clock::now() + limit;
  while (!heard_ && !ended_ && std::chrono::steady_clock::now() < deadline) {
    pause.expires_after(std::chrono::milliseconds(1));
    (void)co_await pause.async_wait(as_result);
  }
}

Task<> H2Peer::write_loop() {
  while (!ended_) {
    const std::string_view out = session_.output();
    if (out.empty()) {
      output_wake_.expires_at(SteadyTime::max());
      (void)co_await output_wake_.async_wait(as_result);
      continue;
    }
    writing_ = true;
    auto sent = co_await stream_.write_all(out);
    writing_ = false;
    if (!sent) {
      end();
      co_return;
    }
    session_.wrote(out.size());
    take_events(on_request_);
  }
}

Task<> H2Peer::read_loop(SteadyDuration idle, OnRequest on_request) {
  on_request_ = std::move(on_request);
  kick();  // our SETTINGS
  SteadyTime idle_until = SteadyTime::max();
  while (!ended_) {
    const std::string_view in = input_.view();
    if (!in.empty()) {
      const bool sound = session_.feed(in);
      heard_ = true;
      input_.keep({in.data() + in.size(), 0});
      kick();
      if (!sound || session_.finished()) break;
      continue;
    }
    if (draining_ && boxes_.empty()) break;
    // A deadline, not a limit of silence: a PING now and then must not hold an idle connection for ever.
    const SteadyTime now = std::chrono::steady_clock::now();
    if (!boxes_.empty())
      idle_until = SteadyTime::max();
    else if (idle_until == SteadyTime::max())
      idle_until = now + idle;
    if (now >= idle_until) break;
    stream_.end_reads_at(idle_until);
    auto filled = co_await input_.fill(stream_);
    // Timed out: it was idle for too long, which is seen above, or forget() said that it is idle now.
    if (!filled && filled.error() != IoError::timed_out) break;
  }
  session_.shut_down();
  kick();
  end();
}

void H2Peer::leave() {
  if (ended_ || std::exchange(draining_, true)) return;
  session_.shut_down();
  kick();
  if (boxes_.empty()) stream_.interrupt_read();
}

void H2Peer::forsake() {
  ended_ = true;
  for (auto& [stream, box] : boxes_) box->gone = true;
}

void H2Peer::end() {
  if (std::exchange(ended_, true)) return;
  for (auto& [stream, box] : boxes_) lose(*box, 0);
  output_wake_.cancel();
  stream_.shutdown_write();
  stream_.interrupt_read();
}

}  // namespace warder
