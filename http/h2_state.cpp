// What happens on a connection: frames that came, frames that went, streams that ended.
#include "http/h2_state.hpp"

#include <algorithm>
#include <cstring>

namespace warder {
namespace {

constexpr std::size_t kStage = 64 * 1024;      // output made ahead
constexpr std::size_t kBodyAhead = 64 * 1024;  // body bytes per stream that nghttp2 has not taken
constexpr std::size_t kBodyLow = kBodyAhead / 2;  // below it the owner is asked for more
constexpr std::size_t kDataEvent = 16 * 1024;     // small DATA frames are joined up to this
constexpr std::size_t kQueuedFrame = 128;  // what nghttp2 keeps for a control frame to be sent
constexpr std::size_t kUntakenHeads = 16;  // times head.bytes

using Part = H2Stream::Part;
using Voice = H2Stream::Voice;

bool ends_stream(const nghttp2_frame& frame) {
  return (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
}

H2FrameMeter meter_for(H2Session::Role role, const H2Limits& limits) {
  using Sender = H2FrameMeter::Sender;
  // A head that is too large still gets its answer, up to four times the limit.
  const std::size_t block = 4 * limits.head.bytes + 64 * 1024;
  return {role == H2Session::Role::server ? Sender::client : Sender::server,
          {.continuations = 16 + block / (16 * 1024), .block_bytes = block}};
}

std::size_t bytes_of(const HeaderList& fields) {
  std::size_t sum = 0;
  for (const HeaderField& field : fields) sum += field.name.size() + field.value.size();
  return sum;
}

std::size_t head_bytes(const H2Event& event) {
  if (const auto* request = std::get_if<H2RequestHead>(&event)) {
    return request->head.target.size() + bytes_of(request->head.fields);
  }
  if (const auto* response = std::get_if<H2ResponseHead>(&event)) {
    return bytes_of(response->head.fields);
  }
  const auto* end = std::get_if<H2End>(&event);
  return end == nullptr ? 0 : bytes_of(end->trailers);
}

StreamId stream_of(const H2Event& event) {
  return std::visit(
      [](const auto& one) -> StreamId {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, H2GoAway>) {
          return 0;
        } else {
          return one.stream;
        }
      },
      event);
}

}  // namespace

H2Session::State::State(Role its_role, H2Limits its_limits, const Clock* its_clock)
    : clock(its_clock == nullptr ? machine_clock : *its_clock),
      role(its_role),
      limits(its_limits),
      meter(meter_for(role, limits)),
      head(limits.head),
      session(open_session()) {}

void H2Session::State::fail(H2Code code) {
  failed = true;
  nghttp2_session_terminate_session(session.get(), static_cast<std::uint32_t>(code));
  pump();
}

void H2Session::State::pump() {
  while (!mute && staged.size() < kStage && nghttp2_session_want_write(session.get()) != 0) {
    const std::uint8_t* at = nullptr;
    const ssize_t n = nghttp2_session_mem_send(session.get(), &at);
    if (n < 0) failed = mute = true;
    if (n <= 0) break;
    staged.append(reinterpret_cast<const char*>(at), static_cast<std::size_t>(n));
  }
  if (doomed && !failed) fail(*doomed);
}

// Our own frames are few: a head, its interim ones, trailers and an end for each stream.
bool H2Session::State::owes_too_much() const {
  if (staged.size() < kStage) return false;
  const std::size_t most = limits.output_bytes / kQueuedFrame + 4 * std::size_t{limits.streams};
  return nghttp2_session_get_outbound_queue_size(session.get()) > most;
}

// A peer that opens streams and gives them up, or makes us give them up, has us work for nothing.
void H2Session::State::count_reset() {
  if (role == Role::client) return;  // there, streams are ours to open
  const auto now = clock.monotonic();
  if (now - reset_window >= std::chrono::seconds(1)) {
    reset_window = now;
    resets = 0;
  }
  if (++resets > limits.resets_per_second) doomed = H2Code::enhance_your_calm;
}

void H2Session::State::push(H2Event event) {
  event_head_bytes += head_bytes(event);
  if (event_head_bytes > kUntakenHeads * limits.head.bytes) doomed = H2Code::enhance_your_calm;
  events.push_back(std::move(event));
}

std::optional<H2Event> H2Session::State::pop() {
  if (events.empty()) return std::nullopt;
  H2Event event = std::move(events.front());
  events.pop_front();
  event_head_bytes -= head_bytes(event);
  return event;
}

void H2Session::State::drop_events(StreamId id) {
  std::erase_if(events, [&](const H2Event& event) {
    if (stream_of(event) != id) return false;
    event_head_bytes -= head_bytes(event);
    return true;
  });
}

H2Stream* H2Session::State::find(StreamId id) {
  const auto at = streams.find(id);
  return at == streams.end() ? nullptr : &at->second;
}

void H2Session::State::refuse(StreamId id, H2Code code) {
  if (H2Stream* stream = find(id); stream != nullptr) stream->fault = code;
  nghttp2_submit_rst_stream(session.get(), NGHTTP2_FLAG_NONE, id, static_cast<std::uint32_t>(code));
}

void H2Session::State::refund(StreamId id) {
  const auto at = owed.find(id);
  if (at == owed.end()) return;
  nghttp2_session_consume_connection(session.get(), at->second);
  owed.erase(at);
}

std::size_t H2Session::State::room(StreamId id, const H2Stream& stream) const {
  std::int64_t window = nghttp2_session_get_stream_remote_window_size(session.get(), id);
  if (window < 0) {  // a request that has not left yet
    window =
        nghttp2_session_get_remote_settings(session.get(), NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE);
  }
  window = std::min<std::int64_t>(window, nghttp2_session_get_remote_window_size(session.get()));
  const std::size_t most =
      std::min(kBodyAhead, static_cast<std::size_t>(std::max<std::int64_t>(window, 0)));
  return most - std::min(most, stream.waiting());
}

void H2Session::State::wake(StreamId id, H2Stream& stream) {
  if (!stream.blocked || stream.voice == Voice::silent) return;
  if (stream.waiting() > kBodyLow || room(id, stream) == 0) return;
  stream.blocked = false;
  push(H2Writable{id});
}

void H2Session::State::on_begin_head(const nghttp2_frame& frame) {
  using Kind = H2HeadReader::Kind;
  const StreamId id = frame.hd.stream_id;
  if (role == Role::server) {
    const bool opens = frame.headers.cat == NGHTTP2_HCAT_REQUEST;
    if (opens) streams.try_emplace(id);
    head.begin(opens ? Kind::request : Kind::trailers);
    return;
  }
  const H2Stream* stream = find(id);
  head.begin(stream != nullptr && stream->in == Part::head ? Kind::response : Kind::trailers);
}

void H2Session::State::on_head(const nghttp2_frame& frame) {
  H2Stream* stream = find(frame.hd.stream_id);
  if (stream == nullptr || stream->reset_by_us) return;
  switch (head.kind()) {
    case H2HeadReader::Kind::request: return on_request(frame, *stream);
    case H2HeadReader::Kind::response: return on_response(frame, *stream);
    case H2HeadReader::Kind::trailers: return on_trailers(frame, *stream);
  }
}

void H2Session::State::on_request(const nghttp2_frame& frame, H2Stream& stream) {
  const StreamId id = frame.hd.stream_id;
  const bool end = ends_stream(frame);
  stream.in = end ? Part::done : Part::body;
  if (head.fit() != H2HeadReader::Fit::fits) {
    stream.voice = Voice::unread;
    return push(H2HeadTooLarge{id, head.fit() == H2HeadReader::Fit::target_too_long});
  }
  auto request = head.request();
  if (!request) return refuse(id, H2Code::protocol_error);
  stream.voice = Voice::normal;
  push(H2RequestHead{id, std::move(request->head), std::move(request->scheme), end,
                     std::move(head.never_indexed())});
}

void H2Session::State::on_response(const nghttp2_frame& frame, H2Stream& stream) {
  const StreamId id = frame.hd.stream_id;
  const bool end = ends_stream(frame);
  if (head.fit() != H2HeadReader::Fit::fits) return refuse(id, H2Code::enhance_your_calm);
  auto response = head.response();
  if (!response) return refuse(id, H2Code::protocol_error);
  if (response->status >= 200) stream.in = end ? Part::done : Part::body;
  push(H2ResponseHead{id, std::move(*response), end, std::move(head.never_indexed())});
}

void H2Session::State::on_trailers(const nghttp2_frame& frame, H2Stream& stream) {
  const StreamId id = frame.hd.stream_id;
  if (head.fit() != H2HeadReader::Fit::fits) return refuse(id, H2Code::enhance_your_calm);
  auto trailers = head.trailers();
  if (!trailers) return refuse(id, H2Code::protocol_error);
  stream.in = Part::done;
  if (stream.voice == Voice::normal) push(H2End{id, std::move(*trailers)});
}

void H2Session::State::on_data(StreamId id, std::string_view bytes) {
  const H2Stream* stream = find(id);
  if (stream == nullptr || stream->voice != Voice::normal) {
    nghttp2_session_consume_connection(session.get(), bytes.size());
    return;
  }
  owed[id] += bytes.size();
  auto* last = events.empty() ? nullptr : std::get_if<H2Data>(&events.back());
  if (last != nullptr && last->stream == id && last->bytes.size() + bytes.size() <= kDataEvent) {
    last->bytes.append(bytes);
  } else {
    push(H2Data{id, std::string(bytes)});
  }
}

void H2Session::State::on_frame(const nghttp2_frame& frame) {
  const StreamId id = frame.hd.stream_id;
  const bool settings = frame.hd.type == NGHTTP2_SETTINGS;
  if (frame.hd.type == NGHTTP2_HEADERS) {
    on_head(frame);
  } else if (frame.hd.type == NGHTTP2_GOAWAY) {
    push(H2GoAway{frame.goaway.last_stream_id, frame.goaway.error_code});
  } else if (H2Stream* stream = find(id); stream != nullptr) {
    if (frame.hd.type == NGHTTP2_WINDOW_UPDATE) wake(id, *stream);
    if (frame.hd.type == NGHTTP2_DATA && ends_stream(frame)) {
      stream->in = Part::done;
      if (stream->voice == Voice::normal) push(H2End{id, {}});
    }
  } else if (settings || (frame.hd.type == NGHTTP2_WINDOW_UPDATE && id == 0)) {
    for (auto& [each, one] : streams) wake(each, one);
  }
}

void H2Session::State::on_sent(const nghttp2_frame& frame) {
  const StreamId id = frame.hd.stream_id;
  H2Stream* stream = find(id);
  if (frame.hd.type == NGHTTP2_RST_STREAM && (stream == nullptr || !stream->reset_by_us)) {
    count_reset();
  }
  if (frame.hd.type == NGHTTP2_GOAWAY && frame.goaway.error_code != NGHTTP2_NO_ERROR) {
    failed = true;
  }
  if (stream == nullptr) return;
  if (frame.hd.type == NGHTTP2_DATA) wake(id, *stream);
  const bool may_end = frame.hd.type == NGHTTP2_DATA || frame.hd.type == NGHTTP2_HEADERS;
  if (!may_end || !ends_stream(frame)) return;
  stream->out = Part::done;
  if (stream->voice == Voice::unread && stream->in != Part::done) {
    stream->reset_by_us = true;  // it has its answer, and need not send the rest
    refuse(id, H2Code::no_error);
  }
}

void H2Session::State::on_not_sent(const nghttp2_frame& frame) {
  // A request that did not leave has no stream to reset: on_close() follows.
  if (frame.hd.type != NGHTTP2_HEADERS || frame.headers.cat == NGHTTP2_HCAT_REQUEST) return;
  if (find(frame.hd.stream_id) != nullptr) {
    refuse(frame.hd.stream_id, H2Code::internal_error);
  }
}

void H2Session::State::on_close(StreamId id, std::uint32_t code) {
  const H2Stream* stream = find(id);
  if (stream == nullptr) return;
  const bool complete = stream->in == Part::done && stream->out == Part::done;
  const bool broken = !complete || stream->fault;
  if (broken) refund(id);
  // nghttp2 says "no error" where both sides had ended before our reset left.
  if (stream->fault) code = static_cast<std::uint32_t>(*stream->fault);
  if (broken && !stream->reset_by_us && stream->voice != Voice::silent) push(H2Reset{id, code});
  streams.erase(id);
}

ssize_t H2Session::State::on_body_wanted(StreamId id, std::span<std::uint8_t> to,
                                         std::uint32_t& flags) {
  H2Stream* stream = find(id);
  if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  const std::size_t n = std::min(to.size(), stream->waiting());
  std::memcpy(to.data(), stream->pending.data() + stream->pending_at, n);
  stream->pending_at += n;
  if (stream->waiting() > 0) return static_cast<ssize_t>(n);
  stream->pending.clear();
  stream->pending_at = 0;
  if (!stream->ending) return n > 0 ? static_cast<ssize_t>(n) : NGHTTP2_ERR_DEFERRED;

  flags |= NGHTTP2_DATA_FLAG_EOF;
  const std::vector<std::string> none;
  H2Fields trailers(none);
  if (!stream->trailers.empty() && trailers.trailers(stream->trailers) && trailers.size() > 0) {
    flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    nghttp2_submit_trailer(session.get(), id, trailers.data(), trailers.size());
  }
  return static_cast<ssize_t>(n);
}

}  // namespace warder
