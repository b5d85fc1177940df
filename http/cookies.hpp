// HTTP/2 may split Cookie into a field per cookie; HTTP/1.1 must not (RFC 9113 section 8.2.3).
#pragma once

#include "http/message.hpp"

namespace warder {

// Several Cookie fields become one, at the place of the first, joined with "; ". For a head on its
// way to HTTP/1.1.
void join_cookies(HeaderList& fields);

}  // namespace warder
