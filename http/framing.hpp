// Decides how a body's end is found (RFC 9112 section 6.3), and refuses whatever names two ends.
#pragma once

#include <string_view>

#include "http/h1_parser.hpp"

namespace warder {

H1Error frame_request(const RequestHead& head, Framing& framing);
// `method` of the request that this answers.
H1Error frame_response(const ResponseHead& head, std::string_view method, Framing& framing);

// May another message follow this one on its connection (RFC 9112 section 9.3)?
bool keeps_alive(const RequestHead& head);
bool keeps_alive(const ResponseHead& head, std::string_view method, const Framing& framing);

// Fields that frame, route, authenticate or belong to the connection: a recipient that merges
// trailers into the head would act on them after they were judged (RFC 9110 section 6.5.1).
bool may_be_trailer(std::string_view name);

}  // namespace warder
