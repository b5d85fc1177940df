// The environment of CMD: an allow-list, the placeholders, the trust variables, and what was asked for by name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "secrets/session_secrets.hpp"

namespace warder {

// Throws ConfigError when a variable that would be given holds the value of a secret.
std::map<std::string, std::string> sandbox_environment(
    const std::vector<std::string>& passed_by_name,
    const std::map<std::string, std::string>& placeholders, const SessionSecrets& secrets);

// Throws ConfigError when an argument holds the value of a secret.
void check_arguments(const std::vector<std::string>& argv, const SessionSecrets& secrets);

}  // namespace warder
