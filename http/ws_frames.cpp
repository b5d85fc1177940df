#include "http/ws_frames.hpp"

#include <algorithm>

namespace warder {
namespace {

constexpr unsigned kFin = 0x80;
constexpr unsigned kReserved = 0x70;
constexpr unsigned kMasked = 0x80;
constexpr unsigned kTwoBytes = 126;    // the length stands in the next two
constexpr unsigned kEightBytes = 127;  // in the next eight

unsigned byte_of(char c) { return static_cast<unsigned char>(c); }

void append_length(std::string& out, std::uint64_t length, unsigned bytes) {
  for (unsigned left = bytes; left > 0; --left) {
    out.push_back(static_cast<char>(length >> (8 * (left - 1)) & 0xff));
  }
}

bool is_known(unsigned opcode) { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

}  // namespace

void write_ws_header(std::string& out, const WsHeader& header) {
  const unsigned masked = header.key ? kMasked : 0;
  const unsigned first = (header.fin ? kFin : 0) | static_cast<unsigned>(header.opcode);
  out.push_back(static_cast<char>(first));
  if (header.length < kTwoBytes) {
    out.push_back(static_cast<char>(masked | static_cast<unsigned>(header.length)));
  } else if (header.length <= UINT16_MAX) {
    out.push_back(static_cast<char>(masked | kTwoBytes));
    append_length(out, header.length, 2);
  } else {
    out.push_back(static_cast<char>(masked | kEightBytes));
    append_length(out, header.length, 8);
  }
  if (header.key) out.append(header.key->data(), header.key->size());
}

void apply_ws_key(char* bytes, std::size_t size, const WsKey& key, std::uint64_t offset) {
  WsKey turned{};
  for (std::size_t i = 0; i < turned.size(); ++i) turned[i] = key[(offset + i) % key.size()];
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>(bytes[i] ^ turned[i % turned.size()]);
  }
}

std::string_view to_string(WsError error) {
  switch (error) {
    case WsError::none: return "";
    case WsError::reserved_bits: return "reserved bits are set";
    case WsError::unknown_opcode: return "unknown opcode";
    case WsError::bad_masking: return "masked by a server, or not masked by a client";
    case WsError::fragmented_control: return "a control frame in fragments";
    case WsError::long_control: return "a control frame of more than 125 bytes";
    case WsError::bad_close: return "a Close of one byte";
    case WsError::stray_continuation: return "a continuation of no message";
    case WsError::unfinished_message: return "a new message inside another";
    case WsError::bad_length: return "a length that is not in its shortest form, or too large";
  }
  return "";
}

WsParser::Event WsParser::next(std::string_view& in) {
  if (error_ != WsError::none) return Event::error;
  if (!in_frame_) return next_head(in);
  if (left_ == 0) {
    in_frame_ = false;
    size_ = 0;
    return Event::end;
  }
  if (in.empty()) return Event::need_more;
  payload_ = in.substr(0, std::min<std::uint64_t>(left_, in.size()));
  in.remove_prefix(payload_.size());
  left_ -= payload_.size();
  return Event::payload;
}

bool WsParser::take(std::string_view& in, std::size_t up_to) {
  const std::size_t n = std::min(in.size(), up_to - std::min(size_, up_to));
  std::copy_n(in.begin(), n, head_.begin() + static_cast<std::ptrdiff_t>(size_));
  in.remove_prefix(n);
  size_ += n;
  return size_ >= up_to;
}

std::size_t WsParser::head_size() const {
  const unsigned second = byte_of(head_[1]);
  const unsigned length = second & ~kMasked;
  const std::size_t more = length == kEightBytes ? 8 : length == kTwoBytes ? 2 : 0;
  return 2 + more + ((second & kMasked) != 0 ? 4 : 0);
}

WsError WsParser::check_start() const {
  const unsigned first = byte_of(head_[0]);
  const unsigned second = byte_of(head_[1]);
  const unsigned opcode = first & 0x0f;
  const unsigned length = second & ~kMasked;
  if ((first & kReserved) != 0) return WsError::reserved_bits;
  if (!is_known(opcode)) return WsError::unknown_opcode;
  if (((second & kMasked) != 0) != (sender_ == Sender::client)) return WsError::bad_masking;
  if (opcode >= 8) {
    if ((first & kFin) == 0) return WsError::fragmented_control;
    if (length > kMaxWsControl) return WsError::long_control;
    if (opcode == 8 && length == 1) return WsError::bad_close;
    return WsError::none;
  }
  if (opcode == 0 && !in_message_) return WsError::stray_continuation;
  if (opcode != 0 && in_message_) return WsError::unfinished_message;
  return WsError::none;
}

// nullopt: in no encoding that there is only one of.
std::optional<std::uint64_t> WsParser::length() const {
  const unsigned start = byte_of(head_[1]) & ~kMasked;
  if (start < kTwoBytes) return start;
  const std::size_t bytes = start == kTwoBytes ? 2 : 8;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < bytes; ++i) length = length << 8 | byte_of(head_[2 + i]);
  if (length > kMaxWsLength || length < kTwoBytes) return std::nullopt;
  if (bytes == 8 && length <= UINT16_MAX) return std::nullopt;
  return length;
}

WsParser::Event WsParser::next_head(std::string_view& in) {
  if (!take(in, 2)) return Event::need_more;
  if (const WsError why = check_start(); why != WsError::none) return fail(why);
  if (!take(in, head_size())) return Event::need_more;
  const auto announced = length();
  if (!announced) return fail(WsError::bad_length);

  header_.fin = (byte_of(head_[0]) & kFin) != 0;
  header_.opcode = static_cast<WsOpcode>(byte_of(head_[0]) & 0x0f);
  header_.length = *announced;
  header_.key.reset();
  if (sender_ == Sender::client) {
    WsKey& key = header_.key.emplace();
    std::copy_n(head_.begin() + static_cast<std::ptrdiff_t>(size_ - key.size()), key.size(),
                key.begin());
  }
  if (!is_control(header_.opcode)) in_message_ = !header_.fin;
  left_ = *announced;
  in_frame_ = true;
  return Event::header;
}

WsParser::Event WsParser::fail(WsError why) {
  error_ = why;
  return Event::error;
}

}  // namespace warder
