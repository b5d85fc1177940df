// What in a working tree programs outside believe or run, and what looks like a secret: by names, and by what a file holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace warder {

// --files: how much of the host a sandbox may read and write.
enum class FilesProfile : std::uint8_t { strict, standard, dev };

// Relative to the root of a tree or of a repository: what editors, agents, CI and shells take orders from.
std::vector<std::string_view> protected_names(FilesProfile profile);
// Relative to a git directory: what git runs, or reads to know what to run.
std::vector<std::string_view> protected_git_names();

// Made by tools, large, and no place for what this looks for.
bool is_skipped_directory(std::string_view name);

enum class SecretCheck : std::uint8_t {
  none,         // no name of a secret
  not_empty,    // the name says it
  private_key,  // holds one in PEM
  key_in_json,  // of a service account
  token,        // a setting with a credential in it, not a variable's name
};
SecretCheck secret_check(std::string_view file_name);
// Of the first bytes of a file with that name.
bool holds_secret(SecretCheck check, std::string_view bytes);

// A larger file is no service account's.
inline constexpr std::size_t kLargestKeyInJson = 16U << 10;

}  // namespace warder
