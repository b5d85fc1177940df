// Reads the server name out of a TLS ClientHello that is passed on unchanged. Pure; fed what has come so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warder {

// Of bytes as sent, with the record headers. A hello with post-quantum keys has about 2 KiB.
inline constexpr std::size_t kMaxClientHello = 16 * 1024;

struct ClientHello {
  enum class State : std::uint8_t {
    incomplete,  // more bytes are needed
    complete,
    broken,  // no ClientHello, whatever follows; or longer than kMaxClientHello
  };
  State state = State::broken;
  // complete: the host_name as sent; nullopt: none was.
  std::optional<std::string> server_name;
};

// `bytes` are the first of a connection. Anything but one whole, well-formed ClientHello in handshake records is broken:
// two parsers must not read two names (RFC 8446 section 4.1.2, RFC 6066 section 3).
ClientHello parse_client_hello(std::string_view bytes);

}  // namespace warder
