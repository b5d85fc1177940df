// The named shapes: what the tools of each issuer look at before they send a token. docs/masking.md lists them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"

namespace warder {

// Every name that a configuration may use, sorted.
const std::vector<std::string>& shape_names();

// A placeholder in the manner of `value`, not yet compared with it; nullopt where the value is not of that shape and
// nothing can be made without it (jwt copies its claims). `name` is one of shape_names().
std::optional<std::string> make_shaped(std::string_view name, std::string_view value,
                                       Random& random);
// By the value's own form; nullopt where it has none that is known.
std::optional<std::string> make_inferred(std::string_view value, Random& random);

// What both of them keep of the issuer's, such as "ghp_"; empty where there is nothing.
std::string shaped_prefix(std::string_view name, std::string_view value);
std::string inferred_prefix(std::string_view value);

// Of a form that only one issuer's tokens have.
bool has_issuers_form(std::string_view value);

std::string random_base62(std::size_t size, Random& random);

}  // namespace warder
