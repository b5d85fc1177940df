// The first warder.yaml for a project: plain rules for the package registries and the git host that
// its files name.
#pragma once

#include <filesystem>
#include <string>

namespace warder {

// Commented YAML that loads. Reads only the project's own files; never takes a user name or
// password from them.
std::string starter_yaml(const std::filesystem::path& project);

}  // namespace warder
