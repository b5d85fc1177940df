// HTTP Basic credentials (RFC 7617) inside a field value: where they are, what they say, how to say
// it anew.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/encoding.hpp"
#include "secrets/wiped.hpp"

namespace warder {

struct BasicToken {
  std::string_view lead;  // scheme word and spaces, as sent
  std::string_view text;  // what follows
};
// nullopt: another scheme.
std::optional<BasicToken> find_basic(std::string_view field_value);

// What a lenient origin might read in it: both alphabets, junk skipped, stray bits dropped. Only to
// look for placeholders; a swap is done in what base64_decode takes.
std::string decode_leniently(std::string_view text);

// Base64 with the alphabet and the padding habit of `as_sent`.
std::string encode_like(std::string_view plain, std::string_view as_sent);

}  // namespace warder
