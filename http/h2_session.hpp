// HTTP/2 on one connection (RFC 9113) as bytes in, events out, over nghttp2. Sans-IO; one thread.
//
// The owner feeds what it read, takes events until there are none, and writes output() whenever it is not empty. Bodies are
// flow-controlled end to end: a peer may send more only after consume() says that its bytes have gone on, and send_body()
// takes only what the peer's windows have room for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "http/message.hpp"

namespace warder {

using StreamId = std::int32_t;

// RFC 9113 section 7, as far as Warder says or tells them apart.
enum class H2Code : std::uint32_t {
  no_error = 0, protocol_error = 1, internal_error = 2, flow_control_error = 3, stream_closed = 5, refused_stream = 7,
  cancel = 8, compression_error = 9, connect_error = 10, enhance_your_calm = 11, http_1_1_required = 13,
};

struct H2Limits {
  HeadLimits head;
  std::uint32_t streams = 100;               // concurrent ones that the peer may open
  std::uint32_t window = 256 * 1024;         // per stream
  std::uint32_t connection_window = 1 << 20;
  std::uint32_t resets_per_second = 200;     // beyond it the peer is told enhance_your_calm (rapid reset)
  std::size_t output_bytes = 256 * 1024;     // control frames that the peer provokes faster than it reads: connection error
};

// A request's or response's head. `end`: no body follows.
struct H2RequestHead { StreamId stream; RequestHead head; std::string scheme; bool end; };  // Host is the first field, from :authority
struct H2ResponseHead { StreamId stream; ResponseHead head; bool end; };                    // also 1xx (end is false)
struct H2Data { StreamId stream; std::string bytes; };
struct H2End { StreamId stream; HeaderList trailers; };             // clean end of a body
struct H2Reset { StreamId stream; std::uint32_t code; };            // the peer gave the stream up, or it broke a rule on it
struct H2Writable { StreamId stream; };                             // send_body() would take bytes again
struct H2GoAway { StreamId last; std::uint32_t code; };             // no new streams
using H2Event = std::variant<H2RequestHead, H2ResponseHead, H2Data, H2End, H2Reset, H2Writable, H2GoAway>;

class H2Session {
 public:
  enum class Role : std::uint8_t { server, client };
  enum class Last : bool { no, yes };
  explicit H2Session(Role role, H2Limits limits = {});
  ~H2Session();
  H2Session(const H2Session&) = delete;

  // False: the connection is broken beyond use; output() still holds the GOAWAY that says why.
  bool feed(std::string_view bytes);
  std::optional<H2Event> next();

  // Bytes for the peer; stays valid until the next call of wrote() or output().
  std::string_view output();
  void wrote(std::size_t n);
  bool finished() const;  // nothing more to say and nothing more to hear

  // Client: opens a stream. Never indexes what is sensitive: `never_indexed` names fields (lower case) that HPACK must not keep.
  // nullopt: no stream can be opened (GOAWAY, id space, or the peer's limit).
  std::optional<StreamId> send_request(const RequestHead& head, std::string_view scheme, std::string_view authority, Last last,
                                       const std::vector<std::string>& never_indexed);
  // Server. 1xx: Last::no, and another head follows.
  bool send_response(StreamId stream, const ResponseHead& head, Last last);
  // How many of `bytes` were taken; 0: wait for H2Writable.
  std::size_t send_body(StreamId stream, std::string_view bytes);
  bool send_end(StreamId stream, const HeaderList& trailers);
  void reset(StreamId stream, H2Code code);
  // So many body bytes of this stream have gone on: the peer may send as many more.
  void consume(StreamId stream, std::size_t n);
  // Graceful end: GOAWAY now, streams under way go on.
  void shut_down();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace warder
