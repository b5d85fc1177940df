#include "http/h2_session.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "http/h2_state.hpp"

namespace warder {
namespace {

using Part = H2Stream::Part;
using Voice = H2Stream::Voice;

H2Code code_for(ssize_t nghttp2_error) {
  switch (nghttp2_error) {
    case NGHTTP2_ERR_BAD_CLIENT_MAGIC: return H2Code::protocol_error;
    case NGHTTP2_ERR_FLOODED: return H2Code::enhance_your_calm;
    default: return H2Code::internal_error;
  }
}

void say_hello(nghttp2_session* session, H2Session::Role role, const H2Limits& limits) {
  const auto head = static_cast<std::uint32_t>(limits.head.bytes);
  const bool server = role == H2Session::Role::server;
  // A client's limit of streams is one of pushes: none.
  const std::array<nghttp2_settings_entry, 4> settings{{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, server ? limits.streams : 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, head},
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
  }};
  const bool sent =
      nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(),
                              server ? settings.size() - 1 : settings.size()) == 0 &&
      nghttp2_session_set_local_window_size(
          session, NGHTTP2_FLAG_NONE, 0, static_cast<std::int32_t>(limits.connection_window)) == 0;
  if (!sent) throw std::runtime_error("nghttp2 does not take the limits of H2Session");
}

}  // namespace

H2Session::H2Session(Role role, H2Limits limits, const Clock* clock)
    : state_(std::make_unique<State>(role, limits, clock)) {
  say_hello(state_->session.get(), role, limits);
}

H2Session::~H2Session() = default;

bool H2Session::feed(std::string_view bytes) {
  State& state = *state_;
  while (!bytes.empty() && !state.failed) {
    const H2FrameMeter::Slice slice = state.meter.next(bytes);
    const ssize_t n = nghttp2_session_mem_recv(
        state.session.get(), reinterpret_cast<const std::uint8_t*>(slice.bytes.data()),
        slice.bytes.size());
    if (n < 0) state.doomed = code_for(n);
    switch (slice.note) {
      case H2FrameMeter::Note::none: break;
      case H2FrameMeter::Note::reset: state.count_reset(); break;
      case H2FrameMeter::Note::flood: state.doomed = H2Code::enhance_your_calm; break;
      case H2FrameMeter::Note::stale:
      case H2FrameMeter::Note::push: state.doomed = H2Code::protocol_error; break;
    }
    // Only between frames: what we answer must not depend on how the bytes came.
    if (slice.frame_end || state.doomed) state.pump();
    if (!state.failed && state.owes_too_much()) state.fail(H2Code::enhance_your_calm);
  }
  return !state.failed;
}

std::optional<H2Event> H2Session::next() { return state_->pop(); }

std::string_view H2Session::output() {
  State& state = *state_;
  if (state.out_at == state.out.size()) {
    state.out.clear();
    state.out_at = 0;
    state.pump();
    state.out.swap(state.staged);
  }
  return std::string_view(state.out).substr(state.out_at);
}

void H2Session::wrote(std::size_t n) {
  state_->out_at += std::min(n, state_->out.size() - state_->out_at);
}

bool H2Session::finished() const {
  const State& state = *state_;
  if (state.out_at < state.out.size() || !state.staged.empty()) return false;
  if (state.mute) return true;
  if (nghttp2_session_want_write(state.session.get()) != 0) return false;
  return state.failed || nghttp2_session_want_read(state.session.get()) == 0;
}

bool H2Session::has_room(std::size_t promised) const {
  const State& state = *state_;
  nghttp2_session* const session = state.session.get();
  if (state.failed || state.leaving || nghttp2_session_check_request_allowed(session) == 0) {
    return false;
  }
  const std::uint32_t theirs =
      nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
  return state.streams.size() + promised < std::min(theirs, state.limits.streams);
}

std::optional<StreamId> H2Session::send_request(const RequestHead& head, std::string_view scheme,
                                                std::string_view authority, Last last,
                                                const std::vector<std::string>& never_indexed) {
  State& state = *state_;
  if (!has_room()) return std::nullopt;
  nghttp2_session* const session = state.session.get();
  H2Fields fields(never_indexed);
  if (!fields.request(head, scheme, authority)) return std::nullopt;
  const nghttp2_data_provider body = State::body_source();
  const StreamId id = nghttp2_submit_request(session, nullptr, fields.data(), fields.size(),
                                             last == Last::yes ? nullptr : &body, nullptr);
  if (id < 0) return std::nullopt;
  H2Stream& stream = state.streams[id];
  stream.voice = Voice::normal;
  stream.out = Part::body;
  stream.ending = last == Last::yes;
  return id;
}

bool H2Session::send_response(StreamId id, const ResponseHead& head, Last last,
                              const std::vector<std::string>& never_indexed) {
  State& state = *state_;
  nghttp2_session* const session = state.session.get();
  H2Stream* stream = state.find(id);
  if (stream == nullptr || stream->voice == Voice::silent || stream->out != Part::head) {
    return false;
  }
  const bool interim = head.status < 200;
  H2Fields fields(never_indexed);
  if (state.role != Role::server || (interim && last == Last::yes) || !fields.response(head)) {
    return false;
  }
  if (interim) {
    return nghttp2_submit_headers(session, NGHTTP2_FLAG_NONE, id, nullptr, fields.data(),
                                  fields.size(), nullptr) == 0;
  }
  const nghttp2_data_provider body = State::body_source();
  if (nghttp2_submit_response(session, id, fields.data(), fields.size(),
                              last == Last::yes ? nullptr : &body) != 0) {
    return false;
  }
  stream->out = Part::body;
  stream->ending = last == Last::yes;
  return true;
}

std::size_t H2Session::send_body(StreamId id, std::string_view bytes) {
  State& state = *state_;
  H2Stream* stream = state.find(id);
  if (stream == nullptr || stream->voice == Voice::silent || stream->out != Part::body ||
      stream->ending) {
    return 0;
  }
  const std::size_t n = std::min(bytes.size(), state.room(id, *stream));
  stream->blocked = n < bytes.size();
  if (n == 0) return 0;
  stream->pending.erase(0, std::exchange(stream->pending_at, 0));
  stream->pending.append(bytes.substr(0, n));
  nghttp2_session_resume_data(state.session.get(), id);
  return n;
}

bool H2Session::send_end(StreamId id, const HeaderList& trailers) {
  State& state = *state_;
  H2Stream* stream = state.find(id);
  if (stream == nullptr || stream->voice == Voice::silent || stream->out != Part::body ||
      stream->ending) {
    return false;
  }
  const std::vector<std::string> none;
  if (!H2Fields(none).trailers(trailers)) return false;
  stream->ending = true;
  stream->blocked = false;
  stream->trailers = trailers;
  nghttp2_session_resume_data(state.session.get(), id);
  return true;
}

void H2Session::reset(StreamId id, H2Code code) {
  State& state = *state_;
  state.drop_events(id);
  state.refund(id);
  H2Stream* stream = state.find(id);
  if (stream == nullptr || stream->reset_by_us) return;
  stream->voice = Voice::silent;
  stream->reset_by_us = true;
  stream->pending = {};
  stream->pending_at = 0;
  state.refuse(id, code);
}

void H2Session::consume(StreamId id, std::size_t n) {
  State& state = *state_;
  const auto at = state.owed.find(id);
  if (at == state.owed.end()) return;
  n = std::min(n, at->second);
  nghttp2_session_consume(state.session.get(), id, n);
  at->second -= n;
  if (at->second == 0) state.owed.erase(at);
}

void H2Session::shut_down() {
  State& state = *state_;
  if (state.failed || std::exchange(state.leaving, true)) return;
  nghttp2_submit_goaway(state.session.get(), NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(state.session.get()),
                        NGHTTP2_NO_ERROR, nullptr, 0);
  // At once: a stream that is accepted before the GOAWAY leaves would be behind its last one.
  state.pump();
}

}  // namespace warder
