#include "http/h2_frame_meter.hpp"

#include <algorithm>

namespace warder {
namespace {

enum FrameType : unsigned char { headers = 1, rst_stream = 3, push_promise = 5, continuation = 9 };

constexpr std::size_t kPreface = 24;  // a client's, before its first frame
// Whoever leaves out ids more often is only told less exactly what is wrong with it.
constexpr std::size_t kGaps = 32;

}  // namespace

H2FrameMeter::H2FrameMeter(Sender sender, Bounds bounds)
    : sender_(sender), bounds_(bounds), payload_(sender == Sender::client ? kPreface : 0) {}

H2FrameMeter::Slice H2FrameMeter::next(std::string_view& in) {
  if (payload_ > 0) {
    const std::string_view bytes = take(in, payload_);
    payload_ -= bytes.size();
    return {bytes, Note::none, payload_ == 0};
  }
  const std::string_view bytes = take(in, header_.size() - have_);
  std::copy(bytes.begin(), bytes.end(), header_.begin() + have_);
  have_ += bytes.size();
  if (have_ < header_.size()) return {bytes};
  have_ = 0;
  const Note note = begin_frame();
  return {bytes, note, payload_ == 0};
}

std::string_view H2FrameMeter::take(std::string_view& in, std::size_t most) {
  const std::string_view bytes = in.substr(0, most);
  in.remove_prefix(bytes.size());
  return bytes;
}

H2FrameMeter::Note H2FrameMeter::begin_frame() {
  payload_ = std::size_t{header_[0]} << 16 | std::size_t{header_[1]} << 8 | header_[2];
  const std::uint32_t stream = (header_[5] & 0x7fU) << 24 | std::uint32_t{header_[6]} << 16 |
                               std::uint32_t{header_[7]} << 8 | header_[8];
  switch (header_[3]) {
    case headers:
      continuations_ = 0;
      block_bytes_ = payload_;
      return sender_ == Sender::client && is_stale(stream) ? Note::stale : Note::none;
    case continuation:
      ++continuations_;
      block_bytes_ += payload_;
      return continuations_ > bounds_.continuations || block_bytes_ > bounds_.block_bytes
                 ? Note::flood
                 : Note::none;
    case rst_stream: return Note::reset;
    case push_promise: return Note::push;
    default: return Note::none;
  }
}

// Lower than the newest is right for trailers, and for a stream that was reset meanwhile: only an
// id that never was is an error. nghttp2 takes it for one of those.
bool H2FrameMeter::is_stale(std::uint32_t stream) {
  if (stream <= newest_) {
    return std::any_of(gaps_.begin(), gaps_.end(),
                       [&](const Gap& gap) { return stream > gap.above && stream < gap.below; });
  }
  if (stream > newest_ + 2) gaps_.push_back({newest_, stream});
  if (gaps_.size() > kGaps) gaps_.pop_front();
  newest_ = stream;
  return false;
}

}  // namespace warder
