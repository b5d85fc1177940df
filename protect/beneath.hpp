// Opens what lies in a tree that somebody else may have written: no link is followed and nothing outside is reached.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/fd.hpp"

namespace warder {

// A directory by its own absolute path, in which no link stands. Not open: errno says why.
Fd open_root(const std::filesystem::path& path);
// `relative` may be empty or ".". Not open: errno says why. Throws std::runtime_error on a kernel that cannot do this.
Fd open_beneath(const Fd& root, const std::filesystem::path& relative, int flags);

// Of what `relative` itself names, a link too. nullopt: it is not there, or not without a link on the way.
std::optional<struct stat> look_beneath(const Fd& root, const std::filesystem::path& relative);
// nullopt: no link.
std::optional<std::string> link_beneath(const Fd& root, const std::filesystem::path& relative);
// nullopt: no regular file, or it cannot be read. At most `most` bytes.
std::optional<std::string> read_beneath(const Fd& root, const std::filesystem::path& relative,
                                        std::size_t most);

}  // namespace warder
