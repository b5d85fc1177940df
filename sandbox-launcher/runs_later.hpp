// Which files of a project run code without anybody asking for it: when a repository is touched, a directory entered, an
// editor or an agent opened on it, a commit pushed.
#pragma once

#include <filesystem>
#include <string_view>

namespace warder {

// Why, such as "git hook"; empty for everything else. `path` is relative to a project's root; only its names count, in
// any case of letters, and at any depth: a project may hold others. A path that one of those files would have to lie
// in, such as `.github`, counts where `is_directory` is false: a link or file there decides what is in it.
// package.json is told by its contents (scripts), not here.
std::string_view runs_later(const std::filesystem::path& path, bool is_directory);

}  // namespace warder
