#include "secrets/grpc_messages.hpp"

#include <algorithm>

namespace warder {

GrpcMessages::Run GrpcMessages::next(std::string_view in) {
  if (head_ == kHead) {
    const std::size_t size = std::min<std::size_t>(in.size(), left_);
    left_ -= static_cast<std::uint32_t>(size);
    if (left_ == 0) head_ = 0;
    return {size, is_plain_ ? Part::message : Part::compressed, left_ == 0};
  }
  std::size_t size = 0;
  while (size < in.size() && head_ < kHead) {
    const auto byte = static_cast<unsigned char>(in[size++]);
    // Any other flag (gRPC-Web's trailers have one) is not a message that we know.
    if (head_ == 0) is_plain_ = byte == 0;
    left_ = head_++ == 0 ? 0 : left_ << 8 | byte;
  }
  const bool ends = head_ == kHead;
  if (ends && left_ == 0) head_ = 0;
  return {size, Part::head, ends};
}

}  // namespace warder
