#include "proxy/h2_origin.hpp"

#include <cstdlib>

#include "secrets/secret_value.hpp"

namespace warder {
namespace {

Task<> read_until_end(std::shared_ptr<H2Connection> connection, SteadyDuration idle) {
  co_await connection->peer.read_loop(idle);
}
Task<> write_until_end(std::shared_ptr<H2Connection> connection) { co_await connection->peer.write_loop(); }

}  // namespace

H2Connection::H2Connection(Worker& worker, Upstream opened, HeadLimits limits)
    : upstream(std::move(opened)),
      peer(worker, *upstream.stream, input, H2Session::Role::client, H2Limits{.head = limits}) {}
H2Connection::~H2Connection() = default;

void H2Connection::run(const std::shared_ptr<H2Connection>& connection, Worker& worker, SteadyDuration idle) {
  worker.spawn(write_until_end(connection));
  worker.spawn(read_until_end(connection, idle));
}

H2Origin::H2Origin(std::shared_ptr<H2Connection> connection, SteadyDuration write_limit)
    : connection_(std::move(connection)),
      write_limit_(write_limit),
      reused_(std::exchange(connection_->was_used, true)) {}

H2Origin::~H2Origin() {
  if (box_ == nullptr) return;
  if (!(read_end_ && sent_end_)) give_up(H2Code::cancel);
  give_back_window();
  connection_->peer.forget(stream_);
  connection_->peer.kick();
}

void H2Origin::give_up(H2Code code) {
  if (box_ != nullptr && !box_->gone) session().reset(stream_, code);
  closed_ = true;
  if (box_ == nullptr) return;
  box_->gone = true;
  box_->read_wake.cancel();
  box_->write_wake.cancel();
  connection_->peer.kick();
}

void H2Origin::close() { give_up(H2Code::cancel); }

void H2Origin::release(Border border) {
  if (border == Border::unclean) give_up(H2Code::cancel);
}

BodyStep H2Origin::lost() const {
  if (closed_) return BodyStep::broken(Reason::client_broken);
  return BodyStep::broken(Reason::upstream_broken, "the origin gave the stream up");
}

Task<OriginLeg::Sent> H2Origin::send_head(RequestHead taken, const Framing& framing,
                                          std::vector<std::string> secret_fields) {
  const Authority& authority = connection_->upstream.authority;
  const HeaderField* host = taken.fields.find("host");
  const std::string named = host != nullptr ? host->value : authority.host_port();
  sent_end_ = framing.kind == Framing::Kind::none;
  const auto last = sent_end_ ? H2Session::Last::yes : H2Session::Last::no;
  const auto stream = session().send_request(taken, to_string(authority.scheme), named, last, secret_fields);
  for (HeaderField& field : taken.fields) wipe(field.value);
  if (!stream) co_return connection_->peer.is_open() ? Sent::unwritable : Sent::broken;
  stream_ = *stream;
  box_ = &connection_->peer.open(stream_);
  connection_->peer.kick();
  co_return Sent::whole;
}

Task<bool> H2Origin::send_body(std::string_view piece) {
  while (!piece.empty()) {
    if (box_ == nullptr || box_->gone) co_return false;
    const std::size_t n = session().send_body(stream_, piece);
    piece.remove_prefix(n);
    connection_->peer.kick();
    if (piece.empty()) break;
    const SteadyTime deadline = std::chrono::steady_clock::now() + write_limit_;
    box_->writable = false;
    while (!box_->writable && !box_->gone) {
      if (!co_await H2Peer::wait(box_->write_wake, deadline)) co_return false;
    }
  }
  co_return true;
}

Task<OriginLeg::Sent> H2Origin::send_end(const HeaderList& trailers) {
  if (box_ == nullptr || box_->gone) co_return Sent::broken;
  if (!session().send_end(stream_, trailers)) co_return Sent::unwritable;
  sent_end_ = true;
  connection_->peer.kick();
  co_return Sent::whole;
}

void H2Origin::end_reads_at(SteadyTime deadline) {
  deadline_ = deadline;
  limit_ = std::chrono::hours(24);
  if (box_ != nullptr) box_->read_wake.cancel();  // a wait that goes on takes the new deadline
}

void H2Origin::limit_reads(SteadyDuration limit) {
  deadline_ = SteadyTime::max();
  limit_ = limit;
  if (box_ != nullptr) box_->read_wake.cancel();
}

Task<bool> H2Origin::wait_for_event() {
  const SteadyTime silence = std::chrono::steady_clock::now() + limit_;
  co_return co_await H2Peer::wait(box_->read_wake, std::min(deadline_, silence));
}

Task<std::optional<BodyStep>> H2Origin::read_head() {
  for (;;) {
    if (box_ == nullptr) co_return BodyStep::broken(Reason::upstream_broken, "the origin took no new stream");
    if (!box_->events.empty()) {
      H2Event event = std::move(box_->events.front());
      box_->events.pop_front();
      auto* head = std::get_if<H2ResponseHead>(&event);
      if (head == nullptr) co_return BodyStep::broken(Reason::upstream_broken, "the response is malformed");
      head_ = std::move(*head);
      spoken_ = true;
      read_end_ = head_.end;
      co_return std::nullopt;
    }
    if (box_->gone) co_return lost();
    if (!co_await wait_for_event()) co_return BodyStep::broken(Reason::upstream_timeout);
  }
}

Framing H2Origin::framing() const {
  if (head_.end) return {};
  const HeaderField* length = head_.head.fields.find("content-length");
  if (length == nullptr) return {Framing::Kind::chunked, 0};
  return {Framing::Kind::length, std::strtoull(length->value.c_str(), nullptr, 10)};
}

void H2Origin::give_back_window() {
  if (taken_ == 0 || box_ == nullptr || box_->gone) return;
  session().consume(stream_, std::exchange(taken_, 0));
  connection_->peer.kick();
}

BodyStep H2Origin::step_of(H2Event event) {
  give_back_window();
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
  return BodyStep::broken(Reason::upstream_broken, "the response is malformed");
}

std::optional<BodyStep> H2Origin::try_read_body() {
  if (head_.end) return BodyStep::at_end();
  if (box_->events.empty()) return std::nullopt;
  H2Event event = std::move(box_->events.front());
  box_->events.pop_front();
  return step_of(std::move(event));
}

Task<BodyStep> H2Origin::read_body() {
  for (;;) {
    auto ready = try_read_body();
    if (ready) co_return std::move(*ready);
    if (box_->gone) co_return lost();
    if (!co_await wait_for_event()) co_return BodyStep::broken(Reason::upstream_timeout);
  }
}

}  // namespace warder
