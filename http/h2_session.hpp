// HTTP/2 on one connection (RFC 9113) as bytes in, events out, over nghttp2. Sans-IO; one thread.
//
// The owner feeds what it read, takes events until there are none, and writes output() whenever it
// is not empty. Bodies are flow-controlled end to end: a peer may send more only after consume()
// says that its bytes have gone on, and send_body() takes only what the peer's windows have room
// for.
// Events may arise in feed(), output() and shut_down(): look for them after each.
//
// What one connection can make us hold, whatever the peer does (with the default limits):
//   one head being read                          head.bytes                             256 KiB
//   heads in events that nobody has taken        16 * head.bytes, beyond it the
//                                                connection ends (enhance_your_calm)    4 MiB
//   body bytes not yet consumed                  max(connection_window, 65,535)         1 MiB
//   body bytes that wait for the peer            64 KiB per stream, never more than
//                                                its windows allowed                    6.4 MiB
//   output                                       160 KiB and output_bytes               416 KiB
//   streams, HPACK tables                        about 1 KiB per stream, 8 KiB          200 KiB
// Events other than heads and bodies cost up to 20 times the bytes fed: feed a read's worth, then
// take them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "http/message.hpp"

namespace warder {

using StreamId = std::int32_t;

// RFC 9113 section 7, as far as Warder says or tells them apart.
enum class H2Code : std::uint32_t {
  no_error = 0,
  protocol_error = 1,
  internal_error = 2,
  flow_control_error = 3,
  stream_closed = 5,
  frame_size_error = 6,
  refused_stream = 7,
  cancel = 8,
  compression_error = 9,
  connect_error = 10,
  enhance_your_calm = 11,
  http_1_1_required = 13,
};

struct H2Limits {
  HeadLimits head;
  // Concurrent ones: what a client may open, or what we open at most at an origin.
  std::uint32_t streams = 100;
  std::uint32_t window = 256 * 1024;  // per stream
  std::uint32_t connection_window = 1 << 20;
  // A client's, and those it makes us send. Beyond it: enhance_your_calm (rapid reset).
  std::uint32_t resets_per_second = 200;
  // Control frames that the peer provokes faster than it reads. Beyond it: enhance_your_calm.
  std::size_t output_bytes = 256 * 1024;
};

// Events. `end`: no body follows, nor an H2End.
// Host is the first field, from :authority. CONNECT has no scheme, and its target is the authority.
// `never_indexed`: field names that the peer's HPACK must not keep; a proxy passes that on.
struct H2RequestHead {
  StreamId stream;
  RequestHead head;
  std::string scheme;
  bool end;
  std::vector<std::string> never_indexed;
};
// Also 1xx, with `end` false; the final one follows.
struct H2ResponseHead {
  StreamId stream;
  ResponseHead head;
  bool end;
  std::vector<std::string> never_indexed;
};
// Server, instead of H2RequestHead: answer it, with 414 when `target`, else 431. Its body is thrown
// away here.
struct H2HeadTooLarge {
  StreamId stream;
  bool target;
};
// Never empty; consume() it once it has gone on.
struct H2Data {
  StreamId stream;
  std::string bytes;
};
// The clean end of a body.
struct H2End {
  StreamId stream;
  HeaderList trailers;
};
// The peer gave the stream up, or it broke a rule on it. Its bytes need no consume() any more.
struct H2Reset {
  StreamId stream;
  std::uint32_t code;  // as the peer said, which may be none of H2Code
};
// send_body() would take bytes again.
struct H2Writable {
  StreamId stream;
};
// The peer takes no new streams; those above `last` are reset, and safe to ask again elsewhere.
struct H2GoAway {
  StreamId last;
  std::uint32_t code;
};
using H2Event = std::variant<H2RequestHead, H2ResponseHead, H2HeadTooLarge, H2Data, H2End, H2Reset,
                             H2Writable, H2GoAway>;

class H2Session {
 public:
  enum class Role : std::uint8_t { server, client };
  enum class Last : bool { no, yes };
  // `clock` is borrowed, for the rate of resets; nullptr: the machine's.
  explicit H2Session(Role role, H2Limits limits = {}, const Clock* clock = nullptr);
  ~H2Session();
  H2Session(const H2Session&) = delete;
  H2Session& operator=(const H2Session&) = delete;

  // False: the connection is broken beyond use; output() still holds the GOAWAY that says why.
  bool feed(std::string_view bytes);
  std::optional<H2Event> next();

  // Bytes for the peer; stays valid until the next call of wrote() or output().
  std::string_view output();
  void wrote(std::size_t n);
  bool finished() const;  // nothing more to say and nothing more to hear

  // Client: may a stream be opened now, besides `promised` others? No: GOAWAY, no more ids, the peer's limit or ours.
  bool has_room(std::size_t promised = 0) const;
  // Client: opens a stream. `never_indexed` names fields (lower case) that HPACK must not keep.
  // Connection-specific fields and Host stay behind; names become lower case.
  // nullopt: no stream can be opened (GOAWAY, id space, the peer's limit or ours), or the head
  // holds what HTTP/2 cannot carry.
  std::optional<StreamId> send_request(const RequestHead& head, std::string_view scheme,
                                       std::string_view authority, Last last,
                                       const std::vector<std::string>& never_indexed);
  // Server. 1xx: Last::no, and another head follows.
  bool send_response(StreamId stream, const ResponseHead& head, Last last,
                     const std::vector<std::string>& never_indexed = {});
  // How many of `bytes` were taken; less than all: wait for H2Writable.
  std::size_t send_body(StreamId stream, std::string_view bytes);
  bool send_end(StreamId stream, const HeaderList& trailers);
  // No more events of this stream, no more output, and nothing of it needs consume().
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
