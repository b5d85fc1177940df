// What Warder changes in heads that pass, and nothing else (docs/architecture.md, "Faithful bytes"). Pure.
#pragma once

#include <string>
#include <vector>

#include "audit/record.hpp"
#include "http/authority.hpp"
#include "http/message.hpp"
#include "secrets/mask.hpp"

namespace warder {

enum class SecretsInUse : bool { no, yes };
enum class HttpVersion : std::uint8_t { http10, http11, http2 };
std::string_view to_string(HttpVersion version);

// Before the swap: hop-by-hop fields off (the origin's leg puts its own framing on), Host when it was missing, origin form,
// in a session that has secrets Accept-Encoding and grpc-accept-encoding cut down to what can be undone; Range and If-Range
// off where a secret will be swapped.
// False: a Connection field names what must not be taken off.
bool prepare_request(RequestHead& head, const Authority& authority, const std::string& origin_form,
                     SecretsInUse session_has, SecretsInUse swapped_here);

// How the body of a response leaves, whatever way it came. HTTP/2 frames by itself: none, length, or chunked for
// "length unknown".
enum class Delivery : std::uint8_t { none, length, chunked, until_close };

struct ResponsePlan {
  bool is_well_formed =
      false;  // no: a Connection field names what must not be taken off; it must not pass
  Delivery delivery = Delivery::none;
  std::vector<audit::SecretMasked> masked;
};
// Hop-by-hop fields and Alt-Svc off, values masked, framing for a client of this version. `close`: say that no
// further message follows (HTTP/2 has no such word). `may_change`: of the body, also where the mask keeps lengths.
enum class AfterThis : bool { keep_open, close };
enum class BodyLength : bool { kept, may_change };
ResponsePlan prepare_response(ResponseHead& head, const Framing& framing, const MaskSet& masks,
                              HttpVersion client, AfterThis after,
                              BodyLength length = BodyLength::kept);

// Masks the values of `fields` in place; `prefix` is "header:" or "trailer:".
void mask_fields(HeaderList& fields, const MaskSet& masks, std::string_view prefix,
                 std::vector<audit::SecretMasked>& masked);

}  // namespace warder
