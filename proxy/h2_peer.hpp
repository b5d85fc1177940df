// HTTP/2 on a stream: reads, hands each event to the box of its stream, writes what the session has to say.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>

#include "http/h2_session.hpp"
#include "proxy/input.hpp"
#include "proxy/stream.hpp"
#include "proxy/worker.hpp"

namespace warder {

// What has come for one stream and was not taken yet. Bounded by the session's windows.
struct H2Box {
  explicit H2Box(asio::io_context& loop) : read_wake(loop), write_wake(loop) {}

  std::deque<H2Event> events;   // heads, data and ends, in order
  bool writable = true;         // send_body() may be tried
  bool gone = false;            // reset by the peer, or the connection has ended
  std::uint32_t code = 0;       // the peer's reason when it was reset
  Closable* watcher = nullptr;  // closed when the stream goes
  asio::steady_timer read_wake;
  asio::steady_timer write_wake;
};

class H2Peer {
 public:
  using OnRequest = std::function<void(H2Event)>;  // a head that opens a stream, or H2HeadTooLarge

  H2Peer(Worker& worker, Stream& stream, Input& input, H2Session::Role role, H2Limits limits);
  H2Peer(const H2Peer&) = delete;

  // Until the connection ends; then every box is gone. `idle`: how long it may have no stream. Server: `on_request`
  // gets what opens a stream.
  Task<> read_loop(SteadyDuration idle, OnRequest on_request = {});
  // Beside read_loop(), until it has ended.
  Task<> write_loop();

  // Until the peer's first bytes, its SETTINGS, or `limit`: before them nobody knows how many streams it takes.
  Task<> wait_until_heard(SteadyDuration limit);

  H2Session& session() { return session_; }
  bool is_open() const { return !ended_; }
  // Does the peer take another stream of ours, besides `promised` ones that are not open yet?
  bool takes_stream(std::size_t promised) const {
    return !ended_ && !draining_ && session_.has_room(promised);
  }
  std::size_t streams() const { return boxes_.size(); }
  H2Box& open(StreamId stream);
  void forget(StreamId stream);
  // The session may have something to say: tried at once, left to write_loop() when the socket is full.
  void kick();
  // GOAWAY: no new streams; the connection ends with the last one.
  void leave();
  // Ends the connection from our side.
  void end();
  // The stream that this borrows is about to die: it is not touched any more.
  void forsake();

  // False: the deadline passed.
  static Task<bool> wait(asio::steady_timer& wake, SteadyTime deadline);

 private:
  void take_events(const OnRequest& on_request);
  void deliver(H2Event event, const OnRequest& on_request);
  void lose(H2Box& box, std::uint32_t code);

  Worker& worker_;
  Stream& stream_;
  Input& input_;
  H2Session session_;
  std::unordered_map<StreamId, std::unique_ptr<H2Box>> boxes_;
  asio::steady_timer output_wake_;
  OnRequest on_request_;
  bool writing_ = false;   // write_loop() is in the middle of a write
  bool draining_ = false;  // no more streams are opened
  bool heard_ = false;
  bool ended_ = false;
};

}  // namespace warder
