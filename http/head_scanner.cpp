#include "http/head_scanner.hpp"

#include <algorithm>

#include "http/chars.hpp"

namespace warder {
namespace {

constexpr std::size_t kMaxBlankLines = 2;  // some clients send an empty line after a body
constexpr std::size_t kLineRoom = 64;      // method, version and spaces beside the target

}  // namespace

HeadScanner::HeadScanner(Kind kind, const HeadLimits& limits)
    : kind_(kind),
      limits_(limits),
      place_(kind == Kind::trailers ? Place::name : Place::start_line) {}

std::size_t HeadScanner::limit() const {
  if (kind_ == Kind::trailers) return limits_.trailer_bytes;
  if (kind_ == Kind::response || place_ != Place::start_line) return limits_.bytes;
  return std::min(limits_.bytes, line_start_ + limits_.target + kLineRoom);
}

HeadScanner::Progress HeadScanner::scan(std::string_view text) {
  for (;;) {
    const std::size_t last = std::min(text.size(), limit());
    const CharClass& plain = place_ == Place::name ? kTokenChar : kFieldChar;
    while (at_ < last && is_in(plain, text[at_])) ++at_;

    const bool is_break = at_ < last && text[at_] == '\r';
    if (at_ + (is_break ? 1 : 0) == last) {
      if (last == text.size()) return Progress::need_more;
      return refuse(last < limits_.bytes && kind_ == Kind::request ? H1Error::uri_too_long
                                                                   : H1Error::head_too_large);
    }
    if (is_break) {
      if (text[at_ + 1] != '\n') return refuse(H1Error::malformed);
      const Progress progress = line_ended();
      if (progress != Progress::need_more) return progress;
    } else if (place_ == Place::name && at_ > line_start_ && text[at_] == ':') {
      place_ = Place::value;
      ++at_;
    } else {
      return refuse(H1Error::malformed);
    }
  }
}

// At a CR LF. need_more here says: go on with the next line.
HeadScanner::Progress HeadScanner::line_ended() {
  const bool is_empty = at_ == line_start_;
  const bool has_name_only = place_ == Place::name && !is_empty;
  if (has_name_only) return refuse(H1Error::malformed);
  at_ += 2;
  line_start_ = at_;
  if (place_ == Place::name) return Progress::complete;

  if (place_ == Place::start_line && is_empty) {
    start_ = at_;
    const bool tolerated = kind_ == Kind::request && at_ <= kMaxBlankLines * 2;
    return tolerated ? Progress::need_more : refuse(H1Error::malformed);
  }
  if (place_ == Place::value && ++fields_ > limits_.fields) return refuse(H1Error::head_too_large);
  place_ = Place::name;
  return Progress::need_more;
}

HeadScanner::Progress HeadScanner::refuse(H1Error error) {
  error_ = error;
  return Progress::refused;
}

}  // namespace warder
