#include "proxy/h1_client.hpp"

#include "http/h1_writer.hpp"

namespace warder {

Task<BodyStep> H1Client::read_body() {
  Input& input = connection_.input;
  // Between two bytes of it, however long ago the head came.
  if (!std::exchange(reads_body_, true))
    connection_.stream.limit_reads(connection_.gateway.limits.client_idle);
  for (;;) {
    std::string_view in = input.view();
    const H1Event event = connection_.parser.next(in);
    input.keep(in);
    if (event == H1Event::body) co_return BodyStep::bytes(connection_.parser.body());
    if (event == H1Event::end) co_return BodyStep::at_end();
    if (event != H1Event::need_more) co_return BodyStep::broken(Reason::malformed_request);
    if (stopped_) co_return BodyStep::broken(Reason::client_broken);
    auto filled = co_await input.fill(connection_.stream);
    if (filled) continue;
    const bool late = filled.error() == IoError::timed_out && !stopped_;
    co_return BodyStep::broken(late ? Reason::client_timeout : Reason::client_broken);
  }
}

void H1Client::stop_reading() {
  stopped_ = true;
  connection_.stream.interrupt_read();
}

Task<bool> H1Client::write_interim(const ResponseHead& head) {
  std::string out;
  if (!write_head(out, head)) co_return false;
  auto sent = co_await connection_.stream.write_all(out);
  co_return static_cast<bool>(sent);
}

bool H1Client::begin_answer(const ResponseHead& head, Delivery delivery) {
  delivery_ = delivery;
  connection_.stream.limit_writes(connection_.gateway.limits.client_idle);
  return write_head(out_, head);
}

bool H1Client::take_back() {
  if (left_) return false;
  out_.clear();
  held_ = {};
  bytes_written_ = 0;
  return true;
}

void H1Client::add(std::string_view piece) {
  bytes_written_ += piece.size();
  if (delivery_ == Delivery::chunked)
    write_chunk(out_, piece);
  else
    out_ += piece;
}

bool H1Client::hold_end(std::string_view rest, const HeaderList& trailers) {
  add(std::exchange(held_, {}));
  add(rest);
  return delivery_ != Delivery::chunked || write_last_chunk(out_, trailers);
}

Task<bool> H1Client::flush() {
  left_ = true;
  // A body of known length goes out from where it lies; the rest is small or needs framing around it.
  if (delivery_ == Delivery::chunked || !out_.empty()) {
    add(std::exchange(held_, {}));
    if (out_.empty()) co_return true;
    auto sent = co_await connection_.stream.write_all(out_);
    out_.clear();
    co_return static_cast<bool>(sent);
  }
  const std::string_view piece = std::exchange(held_, {});
  if (piece.empty()) co_return true;
  bytes_written_ += piece.size();
  auto sent = co_await connection_.stream.write_all(piece);
  co_return static_cast<bool>(sent);
}

}  // namespace warder
