// Credentials that the sandbox brings itself to a host that has a grant: found, refused, taken off or let be.
#pragma once

#include <optional>
#include <vector>

#include "http/message.hpp"
#include "secrets/matcher.hpp"
#include "secrets/sighting.hpp"
#include "secrets/swap.hpp"

namespace warder {

// Every field that could authenticate at a host with these grants (Authorization, and the fields that
// they name), and every query pair of a key that they name, has to hold one of the placeholders that
// were `seen`, or is added to `let_be`. nullopt: none is refused.
std::optional<SwapRefusal> find_foreign(const RequestHead& head,
                                        const std::vector<const Grant*>& grants,
                                        const std::vector<Sighting>& seen,
                                        const Matcher& placeholders,
                                        std::vector<ForeignCredential>& let_be);

}  // namespace warder
