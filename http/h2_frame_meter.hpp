// Follows the frames of an HTTP/2 connection by their headers only, to bound what nghttp2 does not:
// CONTINUATION floods, resets, pushes. It also cuts input at the ends of frames, so that what
// happens never depends on how the bytes came.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

namespace warder {

class H2FrameMeter {
 public:
  enum class Note : std::uint8_t {
    none,
    reset,  // a RST_STREAM begins
    push,   // a PUSH_PROMISE begins
    flood,  // a head goes on in too many frames or bytes
    stale,  // a client opens a stream below one that it opened before (RFC 9113 section 5.1.1)
  };
  struct Slice {
    std::string_view bytes;  // never empty
    Note note = Note::none;
    bool frame_end = false;
  };
  enum class Sender : std::uint8_t { client, server };
  struct Bounds {
    std::size_t continuations;  // of one head
    std::size_t block_bytes;    // of one head, as on the wire
  };

  H2FrameMeter(Sender sender, Bounds bounds);

  // Takes the longest beginning of `in` that holds at most one notable thing. `in` is not empty.
  Slice next(std::string_view& in);

 private:
  std::string_view take(std::string_view& in, std::size_t most);
  Note begin_frame();
  bool is_stale(std::uint32_t stream);

  Sender sender_;
  Bounds bounds_;
  std::size_t payload_;  // still to come of the preface or the frame
  std::array<unsigned char, 9> header_{};
  std::size_t have_ = 0;  // of header_
  std::size_t continuations_ = 0;
  std::size_t block_bytes_ = 0;

  struct Gap {
    std::uint32_t above;
    std::uint32_t below;
  };
  std::uint32_t newest_ = 0;  // the highest stream that a client has opened
  std::deque<Gap> gaps_;      // the last ids that it left out on the way
};

}  // namespace warder
