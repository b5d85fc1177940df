#include "proxy/h2_client.hpp"

#include "proxy/h2_peer.hpp"

namespace warder {
namespace {

// One stream of a sandbox's connection.
class H2Client final : public ClientLeg {
 public:
  H2Client(Connection& connection, H2Peer& peer, StreamId stream)
      : connection_(connection), peer_(peer), stream_(stream), box_(peer.open(stream)) {}
  ~H2Client() override {
    box_.watcher = nullptr;
    // What was never read is not wanted any more: an answer may come before its request is whole (RFC 9113 section 8.1).
    if (!box_.gone && peer_.is_open() && !(read_end_ && answered_)) {
      peer_.session().reset(stream_, answered_ ? H2Code::no_error : H2Code::cancel);
    }
    give_back_window();
    peer_.forget(stream_);
    peer_.kick();
  }

  Task<BodyStep> read_body() override {
    for (;;) {
      if (stopped_ || (box_.gone && box_.events.empty())) co_return BodyStep::broken(Reason::client_broken);
      if (!box_.events.empty()) co_return take();
      const SteadyTime deadline = std::chrono::steady_clock::now() + connection_.gateway.limits.client_idle;
      if (!co_await H2Peer::wait(box_.read_wake, deadline)) co_return BodyStep::broken(Reason::client_timeout);
    }
  }
  HeaderList& trailers() override { return trailers_; }
  void stop_reading() override {
    stopped_ = true;
    box_.read_wake.cancel();
  }
  void no_body() { read_end_ = true; }

  Task<bool> write_interim(const ResponseHead& head) override {
    if (box_.gone || !peer_.session().send_response(stream_, head, H2Session::Last::no)) co_return false;
    peer_.kick();
    co_return true;
  }
  bool begin_answer(const ResponseHead& head, Delivery delivery) override {
    head_ = head;
    has_body_ = delivery != Delivery::none;
    return true;
  }
  void hold(std::string_view piece) override { held_ = piece; }
  bool hold_end(std::string_view rest, const HeaderList& trailers) override {
    rest_ = rest;
    answer_trailers_ = trailers;
    ending_ = true;
    return true;
  }
  Task<bool> flush() override;
  std::uint64_t bytes_written() const override { return bytes_written_; }
  void watch(Closable* origin) override { box_.watcher = origin; }
  void abort() override {
    if (!box_.gone) peer_.session().reset(stream_, H2Code::internal_error);
    box_.gone = true;
    peer_.kick();
  }

 private:
  BodyStep take() {
    give_back_window();
    H2Event event = std::move(box_.events.front());
    box_.events.pop_front();
    if (auto* data = std::get_if<H2Data>(&event)) {
      which_ = 1 - which_;
      pieces_.at(which_) = std::move(data->bytes);
      taken_ = pieces_.at(which_).size();
      return BodyStep::bytes(pieces_.at(which_));
    }
    if (auto* end = std::get_if<H2End>(&event)) {
      trailers_ = std::move(end->trailers);
      read_end_ = true;
      return BodyStep::at_end();
    }
    return BodyStep::broken(Reason::malformed_request);
  }
  // The piece before has gone on: the client may send as much again.
  void give_back_window() {
    if (taken_ == 0 || box_.gone) return;
    peer_.session().consume(stream_, std::exchange(taken_, 0));
    peer_.kick();
  }
  Task<bool> send(std::string_view piece);

  Connection& connection_;
  H2Peer& peer_;
  const StreamId stream_;
  H2Box& box_;
  std::array<std::string, 2> pieces_;  // the one that is out, and the one before it
  std::size_t which_ = 0;
  std::size_t taken_ = 0;
  HeaderList trailers_;
  bool read_end_ = false;
  bool stopped_ = false;
  std::optional<ResponseHead> head_;  // waits for the first flush
  bool has_body_ = false;
  std::string_view held_;
  std::string_view rest_;
  HeaderList answer_trailers_;
  bool ending_ = false;
  bool answered_ = false;
  std::uint64_t bytes_written_ = 0;
};

Task<bool> H2Client::send(std::string_view piece) {
  while (!piece.empty()) {
    if (box_.gone) co_return false;
    const std::size_t n = peer_.session().send_body(stream_, piece);
    piece.remove_prefix(n);
    bytes_written_ += n;
    peer_.kick();
    if (piece.empty()) break;
    const SteadyTime deadline = std::chrono::steady_clock::now() + connection_.gateway.limits.client_idle;
    box_.writable = false;
    while (!box_.writable && !box_.gone) {
      if (!co_await H2Peer::wait(box_.write_wake, deadline)) co_return false;
    }
  }
  co_return true;
}

Task<bool> H2Client::flush() {
  if (box_.gone) co_return false;
  H2Session& session = peer_.session();
  if (head_) {
    const bool bare = ending_ && held_.empty() && rest_.empty() && answer_trailers_.empty();
    const bool sent = session.send_response(stream_, *head_, bare ? H2Session::Last::yes : H2Session::Last::no);
    head_.reset();
    if (!sent) co_return false;
    answered_ = bare;
    if (bare) {
      peer_.kick();
      co_return true;
    }
  }
  if (!co_await send(std::exchange(held_, {}))) co_return false;
  if (ending_) {
    if (!co_await send(std::exchange(rest_, {}))) co_return false;
    if (!session.send_end(stream_, answer_trailers_)) co_return false;
    answered_ = true;
  }
  peer_.kick();
  co_return true;
}

Framing framing_of(const H2RequestHead& request) {
  if (request.end) return {};
  const HeaderField* length = request.head.fields.find("content-length");
  if (length == nullptr) return {Framing::Kind::chunked, 0};
  return {Framing::Kind::length, std::strtoull(length->value.c_str(), nullptr, 10)};
}

Task<> serve_stream(Connection& connection, H2Peer& peer, H2RequestHead request) {
  H2Client client(connection, peer, request.stream);
  if (request.end) client.no_body();
  const Framing framing = framing_of(request);
  IncomingRequest incoming{std::move(request.head), framing, HttpVersion::http2, true};
  (void)co_await handle(connection, client, std::move(incoming));
}

Task<> refuse_stream(Connection& connection, H2Peer& peer, H2HeadTooLarge what) {
  H2Client client(connection, peer, what.stream);
  client.no_body();
  co_await refuse_unread(connection, client, what.target ? Reason::uri_too_long : Reason::head_too_large);
}

// Runs a stream's coroutine and tells the connection when the last one has ended.
struct Streams {
  explicit Streams(asio::io_context& loop) : emptied(loop, SteadyTime::max()) {}
  std::size_t running = 0;
  asio::steady_timer emptied;
};

Task<> counted(Streams& streams, Task<> stream) {
  ++streams.running;
  co_await std::move(stream);
  if (--streams.running == 0) streams.emptied.cancel();
}

Task<> wait_for(Streams& streams) {
  while (streams.running > 0) {
    streams.emptied.expires_at(SteadyTime::max());
    (void)co_await streams.emptied.async_wait(as_result);
  }
}

}  // namespace

Task<> serve_h2(Connection& connection) {
  H2Limits limits;
  limits.head = connection.gateway.limits.head;
  H2Peer peer(connection.worker, connection.stream, connection.input, H2Session::Role::server, limits);
  Streams streams(connection.worker.loop());
  connection.stream.limit_writes(connection.gateway.limits.client_idle);
  connection.worker.spawn(counted(streams, peer.write_loop()));
  const auto begin = [&](H2Event event) {
    auto* request = std::get_if<H2RequestHead>(&event);
    Task<> stream = request != nullptr ? serve_stream(connection, peer, std::move(*request))
                                       : refuse_stream(connection, peer, std::get<H2HeadTooLarge>(event));
    connection.worker.spawn(counted(streams, std::move(stream)));
  };
  co_await peer.read_loop(connection.gateway.limits.keep_alive, begin);
  co_await wait_for(streams);
}

}  // namespace warder
