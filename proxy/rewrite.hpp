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

// Before the swap: hop-by-hop fields off, Transfer-Encoding as `framing` says, Host when it was missing, origin form,
// `Accept-Encoding: identity` in a session that has secrets; Range and If-Range off where a secret will be swapped.
// False: a Connection field names what must not be taken off.
bool prepare_request(RequestHead& head, const Authority& authority, const Framing& framing,
                     const std::string& origin_form, SecretsInUse session_has, SecretsInUse swapped_here);

// How the body of a response leaves, whatever way it came.
enum class Delivery : std::uint8_t { none, length, chunked, until_close };

struct ResponsePlan {
  bool is_well_formed = false;  // no: a Connection field names what must not be taken off; it must not pass
  Delivery delivery = Delivery::none;
  std::vector<audit::SecretMasked> masked;
};
// Hop-by-hop fields and Alt-Svc off, values masked, framing for a client of HTTP/1.`client_minor`. `close`: say that
// no further message follows.
enum class AfterThis : bool { keep_open, close };
ResponsePlan prepare_response(ResponseHead& head, const Framing& framing, const MaskSet& masks,
                              int client_minor, AfterThis after);

// Masks the values of `fields` in place; `prefix` is "header:" or "trailer:".
void mask_fields(HeaderList& fields, const MaskSet& masks, std::string_view prefix,
                 std::vector<audit::SecretMasked>& masked);

// A content coding other than identity.
bool is_coded(const ResponseHead& head);

}  // namespace warder
