// gRPC's messages in a body (also gRPC-Web's, in its binary form), taken apart: one byte of flags, four
// of length, the message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/message.hpp"

namespace warder {

// application/grpc and application/grpc-web, with or without a "+proto" of any kind; not
// grpc-web-text, which is base64.
bool is_grpc(const HeaderList& fields);

struct GrpcPrefix {
  static constexpr std::size_t kSize = 5;
  static constexpr std::uint8_t kCompressed = 0x01;
  static constexpr std::uint8_t kTrailers = 0x80;  // gRPC-Web: the message is the trailers, as text

  std::uint8_t flags = 0;
  std::uint32_t length = 0;
  bool is_compressed() const { return (flags & kCompressed) != 0; }
  bool operator==(const GrpcPrefix&) const = default;
};
void write_grpc_prefix(std::string& out, GrpcPrefix prefix);

class GrpcParser {
 public:
  enum class Event : std::uint8_t {
    need_more,
    prefix,     // prefix(): a message begins
    payload,    // payload(): a view into `in`'s bytes, never empty
    end,        // of the message, also of an empty one
    malformed,  // flags that mean nothing; nothing more is to be asked of it
  };
  // `in` shrinks by what was used.
  Event next(std::string_view& in);
  GrpcPrefix prefix() const { return prefix_; }
  std::string_view payload() const { return payload_; }
  // Between two messages: a body may end here.
  bool is_between() const { return place_ == Place::prefix && known_ == 0; }

 private:
  enum class Place : std::uint8_t { prefix, payload, failed };

  Place place_ = Place::prefix;
  std::array<char, GrpcPrefix::kSize> bytes_{};
  std::size_t known_ = 0;  // of bytes_
  GrpcPrefix prefix_;
  std::uint32_t left_ = 0;
  std::string_view payload_;
};

}  // namespace warder
