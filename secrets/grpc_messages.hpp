// Tells the messages in a gRPC body from their heads as they pass: a flag byte, a length, a message.
#pragma once

#include <cstdint>
#include <string_view>

namespace warder {

class GrpcMessages {
 public:
  enum class Part : std::uint8_t { head, message, compressed };
  struct Run {
    std::size_t size;
    Part part;
    bool ends;
  };
  // The front of `in`, which is not empty. A message without bytes has no run.
  Run next(std::string_view in);

 private:
  static constexpr unsigned kHead = 5;

  unsigned head_ = 0;  // bytes of it that have passed
  bool is_plain_ = true;
  std::uint32_t left_ = 0;  // of the message
};

}  // namespace warder
