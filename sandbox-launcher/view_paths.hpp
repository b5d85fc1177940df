// Questions about absolute paths, answered on their components and never on their characters.
#pragma once

#include <algorithm>
#include <filesystem>

namespace warder {

// Without dot segments and without a slash at the end.
inline std::filesystem::path tidy(const std::filesystem::path& path) {
  const std::filesystem::path normal = path.lexically_normal();
  return normal.has_filename() || normal == normal.root_path() ? normal : normal.parent_path();
}

// `path` is `root` or lies below it. Both tidy.
inline bool within(const std::filesystem::path& path, const std::filesystem::path& root) {
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
}

inline bool below(const std::filesystem::path& path, const std::filesystem::path& root) {
  return path != root && within(path, root);
}

}  // namespace warder
