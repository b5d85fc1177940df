// Which policy of a configuration a command is about.
#pragma once

#include <string>

#include "config/config.hpp"

namespace warder {

// The one with this name; without a name the only one there is. Throws ConfigError, which lists those
// that there are.
const PolicyConfig& chosen_policy(const Config& config, const std::string& name);

}  // namespace warder
