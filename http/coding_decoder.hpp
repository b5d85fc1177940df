// Undoes content codings, as a stream that is pumped: however much a few bytes unfold into, no more
// than kPiece of it is held at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "http/coding.hpp"

namespace warder {

// Read as browsers and curl do: gzip in any number of members; deflate with its zlib frame or without;
// zstd in any number of frames. What stands behind the last member of gzip and begins no other one, or
// behind the end of deflate or br, is dropped. A body of no bytes at all is an empty one.
class Decoder {
 public:
  static constexpr std::size_t kPiece = std::size_t{16} * 1024;

  // In the order in which they were applied: the last one is undone first. At least one.
  explicit Decoder(const std::vector<Coding>& applied);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  enum class Event : std::uint8_t {
    need_more,  // what was fed is used up
    piece,      // piece(): never empty, at most kPiece, valid until the next call
    end,        // after finish(): complete
    malformed,  // also: a wrong check sum, too large a window; what stood before may be missing
    truncated,  // after finish(): its end is missing
  };
  // `in` is borrowed until next() says need_more; before that nothing more may be fed.
  void feed(std::string_view in);
  void finish() { finished_ = true; }
  // Nothing is to be asked of it after end, malformed or truncated.
  Event next();
  std::string_view piece() const { return piece_; }
  // Has anything behind the end of a coding been dropped?
  bool dropped() const;

  class Stage;  // one coding

 private:
  Event pull(std::size_t index, std::string_view& made);

  struct Link;
  std::vector<Link> links_;  // in the order in which they are undone
  std::string_view piece_;
  bool finished_ = false;
};

}  // namespace warder
