#include "proxy/h2_channel.hpp"

#include <cstdlib>

namespace warder {

H2Channel::~H2Channel() {
  box_.watcher = nullptr;
  give_back_window();
  peer_->forget(id_);
  peer_->kick();
}

std::optional<H2Event> H2Channel::take() {
  if (box_.events.empty()) return std::nullopt;
  H2Event event = std::move(box_.events.front());
  box_.events.pop_front();
  return event;
}

BodyStep H2Channel::step_of(H2Event event, Reason why) {
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
  return BodyStep::broken(why, "a head stands in the body");
}

// The piece before has gone on: the peer may send as much again.
void H2Channel::give_back_window() {
  if (taken_ == 0 || box_.gone) return;
  session().consume(id_, std::exchange(taken_, 0));
  peer_->kick();
}

Task<bool> H2Channel::send(std::string_view piece, SteadyDuration limit) {
  while (!piece.empty()) {
    if (box_.gone) co_return false;
    box_.writable =
        false;  // before it is asked: kick() may already bring the word that it is again
    const std::size_t n = session().send_body(id_, piece);
    piece.remove_prefix(n);
    peer_->kick();
    if (piece.empty()) break;
    const SteadyTime deadline = std::chrono::steady_clock::now() + limit;
    while (!box_.writable && !box_.gone) {
      if (!co_await H2Peer::wait(box_.write_wake, deadline)) co_return false;
    }
  }
  co_return true;
}

void H2Channel::reset(H2Code code) {
  if (!box_.gone && peer_->is_open()) session().reset(id_, code);
  box_.gone = true;
  box_.read_wake.cancel();
  box_.write_wake.cancel();
  peer_->kick();
}

Framing h2_framing(const HeaderList& fields, H2Session::Last last) {
  if (last == H2Session::Last::yes) return {};
  const HeaderField* length = fields.find("content-length");
  if (length == nullptr) return {Framing::Kind::chunked, 0};
  return {Framing::Kind::length, std::strtoull(length->value.c_str(), nullptr, 10)};
}

}  // namespace warder
