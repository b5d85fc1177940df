#include "proxy/h1_origin.hpp"

#include <algorithm>

#include "http/cookies.hpp"
#include "http/h1_writer.hpp"
#include "secrets/secret_value.hpp"

namespace warder {
namespace {

// The bytes of a head, which may hold values: wiped whatever way the exchange ends.
struct WrittenHead {
  WrittenHead() = default;
  WrittenHead(const WrittenHead&) = delete;
  ~WrittenHead() { wipe(bytes); }
  std::string bytes;
};

void wipe_head(RequestHead& head) {
  wipe(head.target);
  for (HeaderField& field : head.fields) wipe(field.value);
}

// A head that was opened for sending, wiped when this is done with it.
struct OutgoingHead {
  explicit OutgoingHead(RequestHead taken) : head(std::move(taken)) {}
  OutgoingHead(const OutgoingHead&) = delete;
  ~OutgoingHead() { wipe_head(head); }
  RequestHead head;
};

constexpr std::size_t kChunkFraming = 32;  // a chunk's size in hex and its line ends

BodyStep read_failure(const error_code& error) {
  if (error == IoError::timed_out) return BodyStep::broken(Reason::upstream_timeout);
  if (error == IoError::closed) return BodyStep::broken(Reason::client_broken);
  return BodyStep::broken(Reason::upstream_broken, error.message());
}

}  // namespace

H1Origin::H1Origin(std::unique_ptr<H1Connection> connection, SteadyDuration write_limit,
                   GiveBack give_back)
    : connection_(std::move(connection)),
      give_back_(std::move(give_back)),
      reused_(std::exchange(connection_->was_used, true)) {
  stream().limit_writes(write_limit);
}

Task<OriginLeg::Sent> H1Origin::send_head(RequestHead taken, const Framing& framing,
                                          std::vector<std::string> secret_fields) {
  OutgoingHead outgoing(std::move(taken));
  body_is_secret_ =
      std::find(secret_fields.begin(), secret_fields.end(), ":body") != secret_fields.end();
  method_ = outgoing.head.method;
  chunked_ = framing.kind == Framing::Kind::chunked;
  join_cookies(outgoing.head.fields);
  if (chunked_) outgoing.head.fields.add("Transfer-Encoding", "chunked");
  WrittenHead written;
  // write_head() makes room once: a string that grows leaves copies behind.
  if (!write_head(written.bytes, outgoing.head)) co_return Sent::unwritable;
  connection_->parser.begin_response(method_);
  auto sent = co_await stream().write_all(written.bytes);
  co_return sent ? Sent::whole : Sent::broken;
}

Task<bool> H1Origin::send_body(std::string_view piece) {
  if (piece.empty()) co_return true;
  if (chunked_) {
    frame_.clear();
    // Made once: a string that grows leaves copies behind.
    if (body_is_secret_) frame_.reserve(piece.size() + kChunkFraming);
    write_chunk(frame_, piece);
    piece = frame_;
  }
  auto sent = co_await stream().write_all(piece);
  if (body_is_secret_) wipe(frame_);
  co_return static_cast<bool>(sent);
}

Task<OriginLeg::Sent> H1Origin::send_end(const HeaderList& trailers) {
  if (!chunked_) co_return Sent::whole;
  frame_.clear();
  if (!write_last_chunk(frame_, trailers)) co_return Sent::unwritable;
  auto sent = co_await stream().write_all(frame_);
  co_return sent ? Sent::whole : Sent::broken;
}

H1Event H1Origin::parse() {
  std::string_view in = connection_->input.view();
  const H1Event event = connection_->parser.next(in);
  connection_->input.keep(in);
  return event;
}

Task<std::optional<H1Event>> H1Origin::next_event(BodyStep& why) {
  for (;;) {
    const H1Event event = parse();
    if (event == H1Event::error) {
      why = BodyStep::broken(Reason::upstream_broken, "the response is malformed");
      co_return std::nullopt;
    }
    if (event != H1Event::need_more) co_return event;
    auto filled = co_await connection_->input.fill(stream());
    if (filled) continue;
    if (filled.error() != IoError::end_of_stream) {
      why = read_failure(filled.error());
      co_return std::nullopt;
    }
    const H1Event last = connection_->parser.eof();
    if (last == H1Event::end) co_return last;
    why = BodyStep::broken(Reason::upstream_broken,
                           "the origin closed before its response was complete");
    co_return std::nullopt;
  }
}

BodyStep H1Origin::step_of(H1Event event) {
  if (event == H1Event::body) return BodyStep::bytes(connection_->parser.body());
  if (event == H1Event::end) return BodyStep::at_end();
  return BodyStep::broken(Reason::upstream_broken, "the response is malformed");
}

std::optional<BodyStep> H1Origin::try_read_body() {
  const H1Event event = parse();
  if (event == H1Event::need_more) return std::nullopt;
  return step_of(event);
}

Task<std::optional<BodyStep>> H1Origin::read_head() {
  BodyStep why;
  if (spoken_) {
    // Behind an interim head stands its end; only then does the next message begin.
    auto ended = co_await next_event(why);
    if (!ended) co_return why;
    connection_->parser.begin_response(method_);
  }
  auto event = co_await next_event(why);
  if (!event) co_return why;
  if (*event != H1Event::head) co_return BodyStep::broken(Reason::upstream_broken);
  spoken_ = head().status < 200;
  co_return std::nullopt;
}

Task<BodyStep> H1Origin::read_body() {
  BodyStep why;
  auto event = co_await next_event(why);
  if (!event) co_return why;
  co_return step_of(*event);
}

void H1Origin::release(Border border) {
  const bool stays = border == Border::clean && connection_->parser.keep_alive() &&
                     connection_->parser.framing().kind != Framing::Kind::until_close;
  if (stays && give_back_)
    give_back_(std::move(connection_));
  else
    connection_->upstream.stream->close();
}

}  // namespace warder
