// Who commits: the only part of the caller's git configuration that a sandbox gets to see.
#pragma once

#include <string>
#include <string_view>

namespace warder {

// A configuration with user.name and user.email of `host_config`, where they are, and without git's refusal of
// repositories of another owner (inside, everything that is bound from the host may belong to one).
std::string sanitised_gitconfig(std::string_view host_config);

}  // namespace warder
