// Invariant: any split of any input gives the same frames as the whole, or the same error behind the same frames; and what
// was read, written again, is the input to the byte. The first byte says who sends.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/ws_frames.hpp"

namespace {

using namespace warder;

struct Seen {
  std::string written;  // headers and payload, as they would leave
  std::string borders;  // e: the end of a frame
  WsError error = WsError::none;
  bool operator==(const Seen&) const = default;
};

Seen read(WsParser::Sender sender, std::string_view all, std::size_t piece) {
  WsParser parser(sender);
  Seen seen;
  for (std::size_t at = 0; at < all.size(); at += piece) {
    std::string_view in = all.substr(at, piece);
    for (bool more = true; more;) {
      switch (parser.next(in)) {
        case WsParser::Event::need_more: more = false; break;
        case WsParser::Event::error: seen.error = parser.error(); return seen;
        case WsParser::Event::end:
          if (parser.left() != 0) std::abort();
          seen.borders += std::to_string(seen.written.size()) + "e";
          break;
        case WsParser::Event::header:
          if (is_control(parser.header().opcode) && parser.header().length > kMaxWsControl)
            std::abort();
          write_ws_header(seen.written, parser.header());
          break;
        case WsParser::Event::payload:
          if (parser.payload().empty()) std::abort();
          seen.written += parser.payload();
          break;
      }
    }
    if (!in.empty()) std::abort();
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto sender = (data[0] & 1) != 0 ? WsParser::Sender::client : WsParser::Sender::server;
  const std::string_view all(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Seen whole = read(sender, all, all.empty() ? 1 : all.size());
  if (all.substr(0, whole.written.size()) != whole.written) std::abort();
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{7}}) {
    if (read(sender, all, piece) != whole) std::abort();
  }
  return 0;
}
