// The chunked transfer coding (RFC 9112 section 7.1) taken apart, strictly: its bytes outside of
// the data have one reading only. Trailers are not its matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace warder {

class ChunkedDecoder {
 public:
  enum class Event : std::uint8_t {
    need_more,
    data,  // data(): a view into `in`'s bytes, never empty
    last,  // the line of the last chunk is over; trailers follow in `in`
    error,
  };

  // `in` shrinks by what was used. Nothing more is to be asked of it after last or error.
  Event next(std::string_view& in);
  std::string_view data() const { return data_; }

  static constexpr std::size_t kMaxSizeDigits = 16;
  static constexpr std::size_t kMaxLine = 4096;  // size and extensions

 private:
  enum class Place : std::uint8_t {
    size_start,  // the first digit
    size,
    extension,
    quoted,   // inside an extension's quoted string
    escaped,  // after a backslash in it
    size_lf,  // the LF of the size line
    data,
    data_cr,
    data_lf,
    failed,
  };

  bool take(char c);
  bool take_digit(char c);
  Place after_size(char c) const;
  Place after_extension(char c) const;
  Place after_quoted(char c) const;

  Place place_ = Place::size_start;
  std::uint64_t left_ = 0;  // the size while it is read, then the bytes of data still to come
  std::size_t line_ = 0;    // bytes of the size line so far
  std::string_view data_;
};

}  // namespace warder
