// WebSocket frames out of bytes and back (RFC 6455 section 5): strict, and faithful to the byte, since a length has one
// encoding. Sans-IO. Payload is passed on as it lies on the wire; what it means is not this file's matter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warder {

enum class WsOpcode : std::uint8_t {
  continuation = 0,
  text = 1,
  binary = 2,
  close = 8,
  ping = 9,
  pong = 10,
};
constexpr bool is_control(WsOpcode opcode) { return static_cast<unsigned>(opcode) >= 8; }

inline constexpr std::size_t kMaxWsControl = 125;
inline constexpr std::uint64_t kMaxWsLength = INT64_MAX;  // the top bit must be 0

using WsKey = std::array<char, 4>;

struct WsHeader {
  bool fin = true;
  WsOpcode opcode = WsOpcode::text;
  std::optional<WsKey> key;  // a client's frames have one, a server's have none
  std::uint64_t length = 0;
  bool operator==(const WsHeader&) const = default;
};

// Appends the one encoding that this header has.
void write_ws_header(std::string& out, const WsHeader& header);
// Masks or unmasks, which is the same, payload bytes that stand at `offset` in their frame.
void apply_ws_key(char* bytes, std::size_t size, const WsKey& key, std::uint64_t offset);

enum class WsError : std::uint8_t {
  none,
  reserved_bits,  // an extension that nobody agreed on
  unknown_opcode,
  bad_masking,  // a client that does not, a server that does
  fragmented_control,
  long_control,
  bad_close,           // one byte is no code
  stray_continuation,  // no message was begun
  unfinished_message,  // a new one inside another
  bad_length,          // not in its shortest form, or with the top bit
};
std::string_view to_string(WsError error);

// One direction's frames. After `error` nothing more is to be asked of it.
class WsParser {
 public:
  enum class Sender : std::uint8_t { client, server };
  enum class Event : std::uint8_t { need_more, header, payload, end, error };

  explicit WsParser(Sender sender) : sender_(sender) {}

  // `in` shrinks by what was used. Every frame gives one header, its payload in pieces, and one end.
  Event next(std::string_view& in);
  const WsHeader& header() const { return header_; }            // from `header` to `end`
  std::string_view payload() const { return payload_; }         // a view into `in`, never empty
  std::uint64_t left() const { return in_frame_ ? left_ : 0; }  // of this frame's payload
  // Would a byte that comes now belong to a header?
  bool is_between_frames() const { return !in_frame_; }
  WsError error() const { return error_; }

 private:
  bool take(std::string_view& in, std::size_t up_to);
  std::size_t head_size() const;
  Event next_head(std::string_view& in);
  WsError check_start() const;
  std::optional<std::uint64_t> length() const;
  Event fail(WsError why);

  const Sender sender_;
  std::array<char, 14> head_{};  // the bytes of a header so far
  std::size_t size_ = 0;
  bool in_frame_ = false;
  bool in_message_ = false;  // a fragment came that was not the last
  std::uint64_t left_ = 0;
  WsHeader header_;
  std::string_view payload_;
  WsError error_ = WsError::none;
};

}  // namespace warder
