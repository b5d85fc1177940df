// Takes off what belongs to one connection only (RFC 9110 section 7.6.1).
#pragma once

#include "http/message.hpp"

namespace warder {

// Removes Connection, what it names, Keep-Alive, Proxy-Connection, Proxy-Authorization (requests),
// Proxy-Authenticate and Proxy-Authentication-Info (responses), TE (but keeps "trailers"),
// Transfer-Encoding, Upgrade. Trailer stays.
// Never removes end-to-end fields that Connection must not name (Authorization, Cookie, Host,
// Content-Length, Content-Type, Content-Encoding, Set-Cookie, Cache-Control …): such a message
// returns false and is malformed, as is a Connection that holds something other than tokens.
bool strip_hop_by_hop(HeaderList& fields);

}  // namespace warder
