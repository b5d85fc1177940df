#include "proxy/h2_client.hpp"

#include "proxy/h2_channel.hpp"

namespace warder {
namespace {

// One stream of a sandbox's connection.
class H2Client final : public ClientLeg {
 public:
  H2Client(Connection& connection, std::shared_ptr<H2Peer> peer, StreamId stream)
      : limit_(connection.gateway.limits.client_idle), stream_(std::move(peer), stream) {}
  ~H2Client() override {
    // What was never read is not wanted any more: an answer may come before its request is whole (RFC 9113 section 8.1).
    const bool whole = stream_.has_read_end() && answered_;
    if (!whole && !stream_.box().gone) stream_.reset(answered_ ? H2Code::no_error : H2Code::cancel);
  }

  Task<BodyStep> read_body() override {
    for (;;) {
      if (stopped_) co_return BodyStep::broken(Reason::client_broken);
      if (auto event = stream_.take())
        co_return stream_.step_of(std::move(*event), Reason::malformed_request);
      if (stream_.box().gone) co_return BodyStep::broken(Reason::client_broken);
      const SteadyTime deadline = std::chrono::steady_clock::now() + limit_;
      if (!co_await H2Peer::wait(stream_.box().read_wake, deadline)) {
        co_return BodyStep::broken(Reason::client_timeout);
      }
    }
  }
  HeaderList& trailers() override { return stream_.trailers(); }
  void stop_reading() override {
    stopped_ = true;
    stream_.box().read_wake.cancel();
  }
  void no_body() { stream_.no_body(); }

  Task<bool> write_interim(const ResponseHead& head) override {
    if (stream_.box().gone) co_return false;
    if (!stream_.session().send_response(stream_.id(), head, H2Session::Last::no)) co_return false;
    stream_.kick();
    co_return true;
  }
  bool begin_answer(const ResponseHead& head, Delivery) override {
    head_ = head;
    return true;
  }
  bool take_back() override {
    if (!head_) return false;
    head_.reset();
    held_ = {};
    rest_ = {};
    bytes_written_ = 0;
    ending_ = false;
    return true;
  }
  void hold(std::string_view piece) override { held_ = piece; }
  bool hold_end(std::string_view rest, const HeaderList& trailers) override {
    rest_ = rest;
    bytes_written_ += held_.size() + rest.size();  // the receipt is written before they leave
    answer_trailers_ = trailers;
    ending_ = true;
    return true;
  }
  Task<bool> flush() override;
  std::uint64_t bytes_written() const override { return bytes_written_; }
  void watch(Closable* origin) override { stream_.box().watcher = origin; }
  bool is_gone() const override { return stream_.box().gone; }
  void abort() override { stream_.reset(H2Code::internal_error); }

 private:
  const SteadyDuration limit_;
  H2Channel stream_;
  bool stopped_ = false;
  std::optional<ResponseHead> head_;  // waits for the first flush
  std::string_view held_;
  std::string_view rest_;
  HeaderList answer_trailers_;
  bool ending_ = false;
  bool answered_ = false;
  std::uint64_t bytes_written_ = 0;
};

Task<bool> H2Client::flush() {
  if (stream_.box().gone) co_return false;
  H2Session& session = stream_.session();
  if (head_) {
    const bool bare = ending_ && held_.empty() && rest_.empty() && answer_trailers_.empty();
    const auto last = bare ? H2Session::Last::yes : H2Session::Last::no;
    const bool sent = session.send_response(stream_.id(), *head_, last);
    head_.reset();
    answered_ = sent && bare;
    if (answered_) stream_.kick();
    if (!sent || bare) co_return sent;
  }
  const std::string_view piece = std::exchange(held_, std::string_view());
  if (!ending_) bytes_written_ += piece.size();
  if (!co_await stream_.send(piece, limit_)) co_return false;
  if (ending_) {
    const std::string_view rest = std::exchange(rest_, std::string_view());
    if (!co_await stream_.send(rest, limit_)) co_return false;
    answered_ = session.send_end(stream_.id(), answer_trailers_);
    if (!answered_) co_return false;
  }
  stream_.kick();
  co_return true;
}

Task<> serve_stream(Connection& connection, std::shared_ptr<H2Peer> peer, H2RequestHead request) {
  H2Client client(connection, std::move(peer), request.stream);
  if (request.end) client.no_body();
  // CONNECT names none, and is for the policy to refuse.
  if (!request.scheme.empty() && request.scheme != to_string(connection.arrival.scheme)) {
    co_await refuse_unread(connection, client, Reason::malformed_request);
    co_return;
  }
  const Framing framing =
      h2_framing(request.head.fields, request.end ? H2Session::Last::yes : H2Session::Last::no);
  IncomingRequest incoming{std::move(request.head), framing, HttpVersion::http2, true};
  (void)co_await handle(connection, client, std::move(incoming));
}

Task<> refuse_stream(Connection& connection, std::shared_ptr<H2Peer> peer, H2HeadTooLarge what) {
  H2Client client(connection, std::move(peer), what.stream);
  client.no_body();
  const Reason why = what.target ? Reason::uri_too_long : Reason::head_too_large;
  co_await refuse_unread(connection, client, why);
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

// A loop that is destroyed takes its coroutines in any order: a stream that outlives this one finds its peer at its end.
struct Ending {
  explicit Ending(std::shared_ptr<H2Peer> of) : peer(std::move(of)) {}
  Ending(const Ending&) = delete;
  ~Ending() { peer->forsake(); }
  std::shared_ptr<H2Peer> peer;
};

}  // namespace

Task<> serve_h2(Connection& connection) {
  H2Limits limits;
  limits.head = connection.gateway.limits.head;
  auto peer = std::make_shared<H2Peer>(connection.worker, connection.stream, connection.input,
                                       H2Session::Role::server, limits);
  const Ending ending(peer);
  Streams streams(connection.worker.loop());
  connection.stream.limit_writes(connection.gateway.limits.client_idle);
  connection.worker.spawn(counted(streams, peer->write_loop()));
  const auto begin = [&](H2Event event) {
    auto* request = std::get_if<H2RequestHead>(&event);
    Task<> stream = request != nullptr
                        ? serve_stream(connection, peer, std::move(*request))
                        : refuse_stream(connection, peer, std::get<H2HeadTooLarge>(event));
    connection.worker.spawn(counted(streams, std::move(stream)));
  };
  connection.say_goodbye = [peer] { peer->leave(); };
  co_await peer->read_loop(connection.gateway.limits.keep_alive, begin);
  connection.say_goodbye = nullptr;
  co_await wait_for(streams);
}

}  // namespace warder
