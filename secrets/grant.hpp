// Which secret may go where: hosts and places.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/host_pattern.hpp"

namespace warder {

// A place in a request where a swap is legal. Later: query, path, body, ws.
struct Place {
  enum class Kind : std::uint8_t { header, basic, query, path, body_json, body_form, body, ws };
  Kind kind = Kind::header;
  std::string name;         // header: lower-case field name
  std::string str() const;  // "header:x-api-key", "basic"
  bool operator==(const Place&) const = default;
};

struct Grant {
  std::string secret;
  std::vector<HostPattern> hosts;
  std::vector<Place> at;  // never empty: default_places() when the config has none
  std::string where;      // file:line
};

// authorization (Basic included), x-api-key, api-key, x-goog-api-key, private-token.
std::vector<Place> default_places();
// Host, Cookie, User-Agent, Origin, Referer, X-Forwarded-*, X-Request-Id …: what servers reflect.
// No grant makes a swap legal there; the config refuses such a grant. Any case, '_' as '-'.
bool is_reflection_prone(std::string_view field_name);

}  // namespace warder
