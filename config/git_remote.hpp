// Which host and repository a project's .git/config names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace warder {

struct GitRemote {
  std::string host;  // canonical
  std::string repo;  // "acme/widget", without ".git"
};

// "https://user:pw@github.com/acme/widget.git", "git@github.com:acme/widget.git",
// "ssh://git@host/acme/widget". nullopt: a local path, or a host or path that no rule could name.
std::optional<GitRemote> parse_git_url(std::string_view url);
// The remote "origin", else the first.
std::optional<GitRemote> git_remote(std::string_view git_config);

}  // namespace warder
