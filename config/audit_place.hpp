// Where an audit file may lie, seen from the workspace that the sandbox gets.
#pragma once

#include <filesystem>

#include "config/config.hpp"

namespace warder {

// Throws ConfigError when the audit file lies at the workspace's root: what is covered inside the
// sandbox is a directory, and the workspace cannot be. Symbolic links are followed.
void check_audit_place(const Config& config, const std::filesystem::path& workspace);

}  // namespace warder
