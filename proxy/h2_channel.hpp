// The two bodies of one HTTP/2 stream, the same from either end: what has come is taken in steps, and each step gives the
// window of the one before it back; what is to go waits for the peer's window.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/h2_peer.hpp"
#include "proxy/legs.hpp"

namespace warder {

class H2Channel {
 public:
  // Opens the peer's box for this stream, and forgets it at the end.
  H2Channel(std::shared_ptr<H2Peer> peer, StreamId stream)
      : peer_(std::move(peer)), id_(stream), box_(peer_->open(stream)) {}
  ~H2Channel();
  H2Channel(const H2Channel&) = delete;

  StreamId id() const { return id_; }
  H2Box& box() const { return box_; }
  H2Session& session() { return peer_->session(); }

  // The next event that has come, if there is one: heads for the caller, data and ends for step_of().
  std::optional<H2Event> take();
  // A piece, the end (then trailers() has them), or failed: `why`, for what has no place in a body.
  BodyStep step_of(H2Event event, Reason why);
  HeaderList& trailers() { return trailers_; }
  bool has_read_end() const { return read_end_; }
  // The message ended with its head.
  void no_body() { read_end_ = true; }

  // False: the stream is gone, or the peer took nothing for `limit`.
  Task<bool> send(std::string_view piece, SteadyDuration limit);
  // Gives the stream up: everything that waits on it wakes, and finds it gone.
  void reset(H2Code code);
  void kick() { peer_->kick(); }

 private:
  void give_back_window();

  const std::shared_ptr<H2Peer> peer_;
  const StreamId id_;
  H2Box& box_;
  std::array<std::string, 2> pieces_;  // the one that is out, and the one before it
  std::size_t which_ = 0;
  std::size_t taken_ = 0;
  HeaderList trailers_;
  bool read_end_ = false;
};

// How a body that came in HTTP/2 is framed where it goes on: by its length, if that was told.
Framing h2_framing(const HeaderList& fields, H2Session::Last last);

}  // namespace warder
