// Tools that live in the caller's home (nvm, pyenv, cargo): what of it a sandbox sees, so that PATH keeps its meaning.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox-launcher/view_trees.hpp"

namespace warder {

// The absolute directories of a PATH, in its order, each once.
std::vector<std::filesystem::path> directories_on(std::string_view search_path);

// Directories below `home` that exist, are needed by what `search_path` names there, and hold no credentials. Sorted.
std::vector<std::filesystem::path> tools_in_home(const std::filesystem::path& home,
                                                 std::string_view search_path,
                                                 const SourceOf& source_of);

}  // namespace warder
