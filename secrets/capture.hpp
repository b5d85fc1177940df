// Which answers are a token endpoint's, and where what it mints may be used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/path_pattern.hpp"
#include "secrets/grant.hpp"

namespace warder {

struct Capture {
  std::string name;                // of the secrets that it makes: "acme" mints "acme.access_token"
  std::vector<HostPattern> from;   // the token endpoints
  std::vector<PathPattern> paths;  // there
  std::vector<std::string> fields;  // of the reply
  std::vector<HostPattern> hosts;   // where the tokens may be sent
  std::vector<Place> at;            // never empty
  std::string where;                // file:line

  // Does it cover an answer of `host` to a request for this path? In every form that a server may make of it, as for a deny
  // rule, and in any case of its letters.
  bool covers(const HostName& host, std::string_view path) const;
  // Of a token from `field`. `secret` is left empty.
  std::vector<Grant> grants_of(std::string_view field) const;
  // Of no secret at all: from the first request on the hosts are ones that have a grant.
  Grant standing_grant() const;
};

// nullptr: none does.
const Capture* find_capture(const std::vector<Capture>& captures, const HostName& host,
                            std::string_view path);

}  // namespace warder
