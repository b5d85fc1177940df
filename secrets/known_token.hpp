// Credentials in a text that nobody has declared as secrets: those that tell by their form what they are.
#pragma once

#include <string_view>

namespace warder {

// A token of an issuer's form or with its prefix (docs/masking.md lists them), a JWT, or a private key in PEM, in clear.
// What any text could be (hex, UUID, base62) is none, nor is an example such as "ghp_xxxxxxxx…". Linear.
bool holds_known_token(std::string_view text);

}  // namespace warder
