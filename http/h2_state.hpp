// What an H2Session holds, shared by its public half (h2_session.cpp) and the callbacks of nghttp2
// (h2_callbacks.cpp).
#pragma once

#include <nghttp2/nghttp2.h>

#include <chrono>
#include <deque>
#include <map>
#include <span>
#include <unordered_map>

#include "http/h2_frame_meter.hpp"
#include "http/h2_heads.hpp"
#include "http/h2_session.hpp"

namespace warder {

struct H2Stream {
  enum class Part : std::uint8_t { head, body, done };
  // `silent`: the owner does not know of it, or has given it up, or it broke a rule: no events.
  // `unread`: the owner knows of it, but its head was too large and its body is thrown away.
  enum class Voice : std::uint8_t { silent, unread, normal };

  Part in = Part::head;
  Part out = Part::head;
  Voice voice = Voice::silent;
  bool reset_by_us = false;     // by the owner's wish: the peer is not to blame
  std::optional<H2Code> fault;  // why we reset it
  bool ending = false;          // send_end() was called
  bool blocked = false;         // send_body() took less than it was given
  HeaderList trailers;
  std::string pending;  // body bytes for nghttp2, from `pending_at`
  std::size_t pending_at = 0;

  std::size_t waiting() const { return pending.size() - pending_at; }
};

struct H2Session::State {
  State(Role role, H2Limits limits, const Clock* clock);

  // h2_callbacks.cpp: what nghttp2 calls, and how it is told to.
  nghttp2_session* open_session();
  static void hear_frames(nghttp2_session_callbacks* callbacks);
  static void hear_outcomes(nghttp2_session_callbacks* callbacks);
  static nghttp2_data_provider body_source();

  // The connection is over; a GOAWAY says why.
  void fail(H2Code code);
  // Takes frames from nghttp2 into `staged`, while that has room.
  void pump();
  bool owes_too_much() const;
  void count_reset();

  void push(H2Event event);
  std::optional<H2Event> pop();
  void drop_events(StreamId id);
  H2Stream* find(StreamId id);
  // Ends a stream that broke a rule.
  void refuse(StreamId id, H2Code code);
  // The peer may send again what this stream's unconsumed bytes took of the connection's window.
  void refund(StreamId id);

  std::size_t room(StreamId id, const H2Stream& stream) const;
  void wake(StreamId id, H2Stream& stream);

  void on_begin_head(const nghttp2_frame& frame);
  void on_head(const nghttp2_frame& frame);
  void on_request(const nghttp2_frame& frame, H2Stream& stream);
  void on_response(const nghttp2_frame& frame, H2Stream& stream);
  void on_trailers(const nghttp2_frame& frame, H2Stream& stream);
  void on_data(StreamId id, std::string_view bytes);
  void on_frame(const nghttp2_frame& frame);
  void on_sent(const nghttp2_frame& frame);
  void on_not_sent(const nghttp2_frame& frame);
  void on_close(StreamId id, std::uint32_t code);
  ssize_t on_body_wanted(StreamId id, std::span<std::uint8_t> room, std::uint32_t& flags);

  struct Deleter {
    void operator()(nghttp2_session* which) const { nghttp2_session_del(which); }
  };

  SystemClock machine_clock;
  const Clock& clock;
  const Role role;
  const H2Limits limits;
  H2FrameMeter meter;
  H2HeadReader head;
  std::unique_ptr<nghttp2_session, Deleter> session;

  std::map<StreamId, H2Stream> streams;
  // Body bytes that the owner has yet to consume; outlives the stream.
  std::unordered_map<StreamId, std::size_t> owed;
  std::deque<H2Event> events;
  std::size_t event_head_bytes = 0;  // in `events`

  std::string out;  // what output() shows, from `out_at`
  std::size_t out_at = 0;
  std::string staged;  // follows `out`, so that `out` can stay as it is while it is written

  std::optional<H2Code> doomed;  // to be told once nghttp2 has returned
  bool failed = false;
  bool mute = false;     // nghttp2 cannot even say goodbye
  bool leaving = false;  // shut_down() was called
  std::chrono::nanoseconds reset_window{};
  std::uint32_t resets = 0;
};

}  // namespace warder
