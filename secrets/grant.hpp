// Which secret may go where: hosts and places.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "http/authority.hpp"
#include "policy/host_pattern.hpp"

namespace warder {

// A place in a request where a swap is legal.
struct Place {
  enum class Kind : std::uint8_t { header, basic, query, path, body_json, body_form, body, ws };
  Kind kind = Kind::header;
  // header: lower-case field name. query, body_form: the key as decoded. body_json: RFC 6901 pointer.
  std::string name;
  std::string str() const;  // "header:x-api-key", "basic", "query:key", "body:json:/a/b", "ws"
  bool operator==(const Place&) const = default;
};

struct Grant {
  std::string secret;
  std::vector<HostPattern> hosts;
  std::vector<Place> at;  // never empty: default_places() when the config has none
  std::string where;      // file:line

  // What becomes of a credential that the sandbox brings itself, in one of the grant's own places or
  // in Authorization. The strictest first.
  enum class Foreign : std::uint8_t { refuse, strip, pass };
  Foreign foreign{Foreign::refuse};
  bool plain_http{false};  // also in clear text
  unsigned max{1};         // placeholders of the secret in one request, or in one message

  static constexpr unsigned kMostMax = 16;
  bool serves(Scheme scheme) const {
    return scheme == Scheme::https || (scheme == Scheme::http && plain_http);
  }
};

std::string_view to_string(Grant::Foreign foreign);

// What becomes of a sandbox that sends a placeholder where it must not: the request is refused, or from then on all are.
enum class OnTripwire : std::uint8_t { block, quarantine };

// authorization (Basic included), x-api-key, api-key, x-goog-api-key, private-token.
std::vector<Place> default_places();
// Host, Cookie, User-Agent, Origin, Referer, X-Forwarded-*, X-Request-Id …: what servers reflect.
// No grant makes a swap legal there; the config refuses such a grant. Any case, '_' as '-'.
bool is_reflection_prone(std::string_view field_name);

}  // namespace warder
