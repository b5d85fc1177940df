#include "config/git_remote.hpp"

#include <algorithm>

#include "http/authority.hpp"
#include "http/chars.hpp"
#include "policy/path_pattern.hpp"

namespace warder {
namespace {

bool is_repo(const std::string& repo) {
  const auto plain = [](char c) {
    return is_alnum(c) || c == '-' || c == '_' || c == '.' || c == '/';
  };
  const auto pattern = PathPattern::parse('/' + repo + "/**");
  return !repo.empty() && std::all_of(repo.begin(), repo.end(), plain) &&
         std::holds_alternative<PathPattern>(pattern);
}

}  // namespace

std::optional<GitRemote> parse_git_url(std::string_view url) {
  const auto scheme = url.find("://");
  const bool scp_like = scheme == std::string_view::npos;
  if (!scp_like) {
    const std::string_view name = url.substr(0, scheme);
    if (name != "https" && name != "http" && name != "ssh" && name != "git") return std::nullopt;
    url.remove_prefix(scheme + 3);
  }
  const auto end = url.find(scp_like ? ':' : '/');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view host = url.substr(0, end);
  if (const auto at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
  const Result<HostPort> parsed = parse_host_port(host);
  if (!parsed || parsed->host.is_address()) return std::nullopt;

  std::string repo(url.substr(end + 1));
  while (repo.ends_with('/')) repo.pop_back();
  if (repo.ends_with(".git")) repo.resize(repo.size() - 4);
  if (!is_repo(repo)) return std::nullopt;
  return GitRemote{parsed->host.str(), std::move(repo)};
}

std::optional<GitRemote> git_remote(std::string_view git_config) {
  std::optional<GitRemote> first;
  std::string_view section;
  for (std::size_t at = 0; at < git_config.size();) {
    const std::size_t end = std::min(git_config.find('\n', at), git_config.size());
    const std::string_view line = trim(git_config.substr(at, end - at));
    at = end + 1;
    if (line.starts_with('[')) section = line;
    const auto equals = line.find('=');
    if (!section.starts_with("[remote ") || equals == std::string_view::npos) continue;
    if (trim(line.substr(0, equals)) != "url") continue;
    auto remote = parse_git_url(trim(line.substr(equals + 1)));
    if (remote && section == "[remote \"origin\"]") return remote;
    if (remote && !first) first = std::move(remote);
  }
  return first;
}

}  // namespace warder
