// Makes the random token that a sandbox holds instead of a value.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/random.hpp"
#include "secrets/template.hpp"

namespace warder {

inline constexpr std::size_t kMinSecretBytes = 8;
inline constexpr std::size_t kMaxSecretBytes = 16 * 1024;

// How a placeholder is to look. By default as its value does.
struct PlaceholderSpec {
  enum class Format : std::uint8_t {
    realistic,
    obvious,  // the prefix, then "WARDER~": no scanner takes it for a credential, nor does a tool that checks more
  };
  std::string shape;             // one of shape_names(); empty: inferred from the value
  std::optional<Template> form;  // instead of a name
  bool is_weak = false;          // `form` may hold under 128 bits
  Format format = Format::realistic;
};

// The end of a sentence, which never quotes the value.
struct PlaceholderError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A named or inferred shape holds all the random bits that it can, 80 (an AWS access key) at the least; else a well-known
// prefix of the value ("ghp_": docs/masking.md lists them) is followed by base62 of at least 128 random bits. It is as long
// as the value, or where that is too short for the bits, longer by a multiple of 3 (so that base64 of what surrounds it
// stays in place). Never equal to the value, and nothing of the value is kept but the issuer's constants, the lengths of
// its parts, and the public claims of a JWT; no end of the placeholder is a beginning of the value nor the other way
// round, so that masking cannot put the value together. Throws PlaceholderError when `spec` cannot have that for this
// value.
std::string make_placeholder(std::string_view value, const PlaceholderSpec& spec, Random& random);
std::string make_placeholder(std::string_view value, Random& random);

// Why a template cannot make placeholders, as a sentence; nullopt when it can.
std::optional<std::string> refuse_template(const Template& form, bool is_weak);

// The issuer's own beginning that `value` has ("ghp_"), if it is one that is known.
std::string_view known_prefix(std::string_view value);

}  // namespace warder
