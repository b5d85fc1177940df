#include "http/chunked.hpp"

#include <algorithm>
#include <limits>

#include "http/chars.hpp"

namespace warder {
namespace {

// Other parsers count in signed 64-bit numbers.
constexpr auto kMaxSize = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

}  // namespace

ChunkedDecoder::Event ChunkedDecoder::next(std::string_view& in) {
  while (!in.empty()) {
    if (place_ == Place::data) {
      data_ = in.substr(0, std::min<std::uint64_t>(left_, in.size()));
      in.remove_prefix(data_.size());
      left_ -= data_.size();
      if (left_ == 0) place_ = Place::data_cr;
      return Event::data;
    }
    const bool ends_size = place_ == Place::size_lf;
    if (!take(in.front())) {
      place_ = Place::failed;
      return Event::error;
    }
    in.remove_prefix(1);
    if (ends_size && left_ == 0) return Event::last;
  }
  return Event::need_more;
}

// One byte of framing. False: not what the grammar has here.
bool ChunkedDecoder::take(char c) {
  switch (place_) {
    case Place::size_start:
      line_ = 0;
      left_ = 0;
      place_ = Place::size;
      return take_digit(c);
    case Place::size:
      if (hex_value(c) >= 0) return take_digit(c);
      place_ = after_size(c);
      break;
    case Place::extension: place_ = after_extension(c); break;
    case Place::quoted: place_ = after_quoted(c); break;
    case Place::escaped: place_ = is_in(kFieldChar, c) ? Place::quoted : Place::failed; break;
    case Place::size_lf:
      if (c != '\n') return false;
      place_ = left_ == 0 ? Place::failed : Place::data;
      return true;
    case Place::data_cr: place_ = Place::data_lf; return c == '\r';
    case Place::data_lf: place_ = Place::size_start; return c == '\n';
    case Place::data:
    case Place::failed: return false;
  }
  return place_ != Place::failed && ++line_ <= kMaxLine;
}

bool ChunkedDecoder::take_digit(char c) {
  const int digit = hex_value(c);
  if (digit < 0 || ++line_ > kMaxSizeDigits) return false;
  left_ = left_ * 16 + static_cast<unsigned>(digit);  // 16 digits fit
  return left_ <= kMaxSize;
}

// White space is bad here: RFC 9112 has it before a ';' only, and parsers differ on it.
ChunkedDecoder::Place ChunkedDecoder::after_size(char c) const {
  if (c == '\r') return Place::size_lf;
  return c == ';' ? Place::extension : Place::failed;
}

ChunkedDecoder::Place ChunkedDecoder::after_extension(char c) const {
  if (c == '\r') return Place::size_lf;
  if (c == '"') return Place::quoted;
  const bool plain = is_in(kTokenChar, c) || c == ';' || c == '=' || c == ' ' || c == '\t';
  return plain ? Place::extension : Place::failed;
}

// A CR here ends the line for a parser without quoted strings, and not for one that knows them.
ChunkedDecoder::Place ChunkedDecoder::after_quoted(char c) const {
  if (c == '"') return Place::extension;
  if (c == '\\') return Place::escaped;
  return is_in(kFieldChar, c) ? Place::quoted : Place::failed;
}

}  // namespace warder
