// Does a field that holds a placeholder hold a credential of the sandbox's own beside it?
#pragma once

#include <string_view>

#include "secrets/matcher.hpp"

namespace warder {

// `value` is Authorization's, or the decoded pair of Basic. What may stand there besides one placeholder: a scheme word, one
// parameter's name ("token=", quotes), a user's name before ':'. A server that takes the first of several credentials, or only
// the user's name of a pair, would take what the sandbox wrote.
bool stands_alone_in_authorization(std::string_view value, const Matcher& placeholders);
bool stands_alone_in_basic(std::string_view pair, const Matcher& placeholders);

}  // namespace warder
