// Where a secret's value comes from: a file or an environment variable. Checks it on the way in.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <variant>

#include "secrets/secret_value.hpp"

namespace warder {

// A sentence says what is wrong and what to do; it never quotes the value.
using SourceResult = std::variant<SecretValue, std::string>;

// A regular file (symbolic links are followed: mounted secrets are made of them), read once.
// Exactly one trailing line break is taken off.
SourceResult from_file(const std::filesystem::path& path);
// The value of an environment variable, as it is. The caller wipes its own copy.
SourceResult from_env(std::string_view name, std::string_view value);

}  // namespace warder
