// HTTP/1.1 messages into bytes: heads with their fields as given, and chunked framing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "http/message.hpp"

namespace warder {

// Appends "METHOD target HTTP/1.1" or "HTTP/1.1 status phrase", the fields in their order and
// spelling, and the empty line. The version is always ours (RFC 9112 section 2.3).
// False, and nothing appended, when a part holds what would start another line or field: CR, LF or
// NUL anywhere, a space in method or target, a name that is no token, a status out of 100..999.
bool write_head(std::string& out, const RequestHead& head);
bool write_head(std::string& out, const ResponseHead& head);

// Appends one chunk; nothing for empty `data` (an empty chunk would end the body).
void write_chunk(std::string& out, std::string_view data);
// Appends the last chunk, trailers and the empty line. False as above.
bool write_last_chunk(std::string& out, const HeaderList& trailers);

}  // namespace warder
