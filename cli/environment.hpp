// The sandbox's environment: an allow-list of what this process was started with, and the trust variables. Placeholders
// are added behind it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "secrets/session_secrets.hpp"

namespace warder {

// PATH, TERM, locale and their like, what is passed by name, HOME and USER of the sandbox, and where its trust lies.
std::map<std::string, std::string> sandbox_environment(
    const std::vector<std::string>& passed_by_name);

// For AsRoot::yes: who the user is, and where apt is told that there is no other.
void become_root(std::map<std::string, std::string>& env);

// The name of the secret whose value `text` holds, raw or in a listed encoding; empty: of none.
std::string held_secret(const std::string& text, const SessionSecrets& secrets);

// Throws ConfigError when an argument or a variable holds a secret's value, raw or in a listed encoding; it names the
// place and the secret, never the value.
void refuse_values(const std::vector<std::string>& argv,
                   const std::map<std::string, std::string>& env, const SessionSecrets& secrets);

}  // namespace warder
