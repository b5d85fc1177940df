// Turns the bytes of a whole head, which HeadScanner let through, into a head: llhttp reads it, and
// what llhttp takes more kindly than RFC 9112 is refused here.
#pragma once

#include <string_view>

#include "http/h1_parser.hpp"

namespace warder {

// Methods are case-sensitive; "get" is GET to some servers and unknown to others. For every version.
bool is_method(std::string_view text);

// `text` goes up to and with the empty line.
H1Error read_request_head(std::string_view text, const HeadLimits& limits, RequestHead& head);
H1Error read_response_head(std::string_view text, ResponseHead& head);
// Refused where a field may not be a trailer (framing.hpp).
H1Error read_trailers(std::string_view text, HeaderList& trailers);

}  // namespace warder
