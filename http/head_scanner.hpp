// Finds the end of a head or of a trailer block, and refuses it at the first byte that two parsers
// could read in two ways: bare CR or LF, control bytes, folded lines, white space around a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/h1_parser.hpp"

namespace warder {

class HeadScanner {
 public:
  enum class Kind : std::uint8_t { request, response, trailers };
  enum class Progress : std::uint8_t { need_more, complete, refused };

  HeadScanner(Kind kind, const HeadLimits& limits);

  // `text` is the whole block so far, each time the same bytes and more. What is refused depends on
  // the bytes alone, never on how they were cut.
  Progress scan(std::string_view text);

  // Bytes of the empty lines before a request line, which do not belong to the message.
  std::size_t start() const { return start_; }
  std::size_t end() const { return at_; }  // after complete: past the empty line
  H1Error error() const { return error_; }

 private:
  enum class Place : std::uint8_t { start_line, name, value };

  std::size_t limit() const;
  Progress line_ended();
  Progress refuse(H1Error error);

  Kind kind_;
  HeadLimits limits_;
  Place place_;
  std::size_t at_ = 0;  // the first byte that has not been looked at
  std::size_t line_start_ = 0;
  std::size_t start_ = 0;
  std::size_t fields_ = 0;
  H1Error error_ = H1Error::none;
};

}  // namespace warder
