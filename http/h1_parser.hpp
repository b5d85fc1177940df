// HTTP/1.x messages out of bytes (RFC 9112), strict: what two parsers could read in two ways is
// refused.
// A request without Host is let through: its target may name the destination; two Hosts are refused.
// Sans-IO: bytes in, events out. One parser reads the messages of one connection, one by one.
//
//   parser.begin_request();                     // or begin_response(method of the request)
//   while (true) switch (parser.next(in)) {     // `in` shrinks by what was used
//     case H1Event::need_more: read again, append; break;
//     case H1Event::head:      parser.request() / parser.response(), parser.framing(); break;
//     case H1Event::body:      parser.body(): a view into `in`'s bytes, valid until they go; break;
//     case H1Event::end:       parser.trailers(); the bytes left in `in` belong to the next message;
//     case H1Event::error:     parser.error(); the connection is of no further use
//   }
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "http/message.hpp"

namespace warder {

enum class H1Event : std::uint8_t { need_more, head, body, end, error };

enum class H1Error : std::uint8_t {
  none,
  malformed,  // bare LF or CR, obs-fold, NUL, bad token, bad version, leading white space …
  bad_framing,  // Content-Length with Transfer-Encoding, differing lengths, unknown or repeated coding,
                // bad chunk, a coding on HTTP/1.0
  uri_too_long,
  head_too_large,  // bytes or number of fields, trailers too
  truncated,       // the peer closed inside a message
};

class H1Parser {
 public:
  enum class Role : std::uint8_t { request, response };
  explicit H1Parser(Role role, HeadLimits limits = {});
  ~H1Parser();
  H1Parser(H1Parser&&) noexcept;
  H1Parser& operator=(H1Parser&&) noexcept;

  void begin_request();
  // `method` of the request that this answers: HEAD has no body, CONNECT with 2xx becomes a tunnel.
  // A 1xx is delivered as `head` followed by `end`; call begin_response again for the one after it.
  void begin_response(std::string_view method);

  H1Event next(std::string_view& in);
  // The peer has closed. `end` for a body until_close; need_more when no byte of a message had come;
  // error (truncated) otherwise.
  H1Event eof();

  RequestHead& request();         // after head
  ResponseHead& response();       // after head
  std::string_view body() const;  // after body: never empty
  HeaderList& trailers();         // after end
  Framing framing() const;        // after head
  bool keep_alive() const;        // after head: may another message follow on this connection?
  bool started() const;           // has any byte of the current message been seen?
  H1Error error() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace warder
