// Names with letters beyond ASCII, as the A-labels that DNS and TLS know (UTS #46, non-transitional).
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace warder {

// `name`: UTF-8. "Bücher.test", composed or not, is "xn--bcher-kva.test"; full-width letters, digits and dots become
// ASCII. What comes out is lower case and has not been checked as a host name: it may be empty, or look like an address.
// Fails with an AuthorityError.
Result<std::string> to_a_labels(std::string_view name);

}  // namespace warder
