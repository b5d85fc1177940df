#include "proxy/h2_origin.hpp"

#include "secrets/secret_value.hpp"

namespace warder {
namespace {

H2Limits limits_with(HeadLimits head) {
  H2Limits limits;
  limits.head = head;
  return limits;
}

Task<> read_until_end(std::shared_ptr<H2Connection> connection, SteadyDuration idle) {
  co_await connection->peer->read_loop(idle);
}
Task<> write_until_end(std::shared_ptr<H2Connection> connection) {
  co_await connection->peer->write_loop();
}

}  // namespace

H2Connection::H2Connection(Worker& worker, Upstream opened, HeadLimits limits)
    : upstream(std::move(opened)),
      peer(std::make_shared<H2Peer>(worker, *upstream.stream, input, H2Session::Role::client,
                                    limits_with(limits))) {}

H2Connection::~H2Connection() { peer->forsake(); }

void H2Connection::run(const std::shared_ptr<H2Connection>& connection, Worker& worker,
                       SteadyDuration idle) {
  worker.spawn(write_until_end(connection));
  worker.spawn(read_until_end(connection, idle));
}

H2Origin::H2Origin(std::shared_ptr<H2Connection> connection, SteadyDuration write_limit,
                   OnEnd on_end)
    : connection_(std::move(connection)),
      write_limit_(write_limit),
      on_end_(std::move(on_end)),
      reused_(std::exchange(connection_->was_used, true)) {
  ++connection_->promised;
}

H2Origin::~H2Origin() {
  keep_promise();
  if (!is_gone() && !(stream_->has_read_end() && sent_end_)) stream_->reset(H2Code::cancel);
  stream_.reset();
  on_end_();
}

// Its stream is open, or will never be.
void H2Origin::keep_promise() {
  if (std::exchange(promised_, false)) --connection_->promised;
}

void H2Origin::give_up(H2Code code) {
  closed_ = true;
  if (stream_) stream_->reset(code);
}

void H2Origin::close() { give_up(H2Code::cancel); }

void H2Origin::release(Border border) {
  if (border == Border::unclean) give_up(H2Code::cancel);
}

// RFC 9113 section 8.7: a stream above the last one of a GOAWAY is reset the same way, here.
bool H2Origin::was_refused() const {
  if (closed_ || spoken_) return false;
  if (!stream_) return !promised_;
  const auto refused = static_cast<std::uint32_t>(H2Code::refused_stream);
  return stream_->box().gone && stream_->box().code == refused;
}

BodyStep H2Origin::lost() const {
  if (closed_) return BodyStep::broken(Reason::client_broken);
  return BodyStep::broken(Reason::upstream_broken, "the origin gave the stream up");
}

Task<OriginLeg::Sent> H2Origin::send_head(RequestHead taken, const Framing& framing,
                                          std::vector<std::string> secret_fields) {
  const Authority& authority = connection_->upstream.key.authority;
  const HeaderField* host = taken.fields.find("host");
  const std::string named = host != nullptr ? host->value : authority.host_port();
  sent_end_ = framing.kind == Framing::Kind::none;
  const auto last = sent_end_ ? H2Session::Last::yes : H2Session::Last::no;
  const std::shared_ptr<H2Peer>& peer = connection_->peer;
  const auto id =
      peer->session().send_request(taken, to_string(authority.scheme), named, last, secret_fields);
  wipe(taken.target);
  for (HeaderField& field : taken.fields) wipe(field.value);
  keep_promise();
  if (!id) co_return Sent::broken;  // read_head() says it
  stream_.emplace(peer, *id);
  stream_->kick();
  co_return Sent::whole;
}

Task<bool> H2Origin::send_body(std::string_view piece) {
  if (is_gone()) co_return false;
  co_return co_await stream_->send(piece, write_limit_);
}

Task<OriginLeg::Sent> H2Origin::send_end(const HeaderList& trailers) {
  if (is_gone()) co_return Sent::broken;
  sent_end_ = stream_->session().send_end(stream_->id(), trailers);
  if (!sent_end_) co_return Sent::unwritable;
  stream_->kick();
  co_return Sent::whole;
}

// A wait that goes on takes the new deadline.
void H2Origin::wake_reader() {
  if (stream_) stream_->box().read_wake.cancel();
}

void H2Origin::end_reads_at(SteadyTime deadline) {
  deadline_ = deadline;
  limit_ = std::chrono::hours(24);
  wake_reader();
}

void H2Origin::limit_reads(SteadyDuration limit) {
  deadline_ = SteadyTime::max();
  limit_ = limit;
  wake_reader();
}

Task<bool> H2Origin::wait_for_event() {
  const SteadyTime silence = std::chrono::steady_clock::now() + limit_;
  co_return co_await H2Peer::wait(stream_->box().read_wake, std::min(deadline_, silence));
}

Task<std::optional<BodyStep>> H2Origin::read_head() {
  if (!stream_)
    co_return BodyStep::broken(Reason::upstream_broken, "the origin took no new stream");
  for (;;) {
    if (auto event = stream_->take()) {
      auto* head = std::get_if<H2ResponseHead>(&*event);
      if (head == nullptr)
        co_return BodyStep::broken(Reason::upstream_broken, "the response is malformed");
      head_ = std::move(*head);
      spoken_ = true;
      if (head_.end) stream_->no_body();
      co_return std::nullopt;
    }
    if (is_gone()) co_return lost();
    if (!co_await wait_for_event()) co_return BodyStep::broken(Reason::upstream_timeout);
  }
}

Framing H2Origin::framing() const {
  return h2_framing(head_.head.fields, head_.end ? H2Session::Last::yes : H2Session::Last::no);
}

std::optional<BodyStep> H2Origin::try_read_body() {
  if (head_.end) return BodyStep::at_end();
  auto event = stream_->take();
  if (!event) return std::nullopt;
  return stream_->step_of(std::move(*event), Reason::upstream_broken);
}

Task<BodyStep> H2Origin::read_body() {
  for (;;) {
    auto ready = try_read_body();
    if (ready) co_return std::move(*ready);
    if (is_gone()) co_return lost();
    if (!co_await wait_for_event()) co_return BodyStep::broken(Reason::upstream_timeout);
  }
}

}  // namespace warder
