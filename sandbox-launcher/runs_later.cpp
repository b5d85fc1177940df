#include "sandbox-launcher/runs_later.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace warder {
namespace {

namespace fs = std::filesystem;

struct Place {
  const char*
      pattern;  // names from any directory of the tree on; "*" at an end of a name is any text
  const char* why;
};

constexpr const char* kGit = "git configuration";
constexpr const char* kHook = "git hook";
constexpr const char* kHooks = "hooks manager";
constexpr const char* kCi = "CI";
constexpr const char* kEditor = "editor";
constexpr const char* kAgent = "agent";
constexpr const char* kShell = "on entering the directory";
constexpr const char* kPackages = "package manager";

// Makefiles, build scripts, tests and sources are not here: somebody has to ask for them, and they are the work itself.
constexpr Place kPlaces[]{
    {".gitattributes", kGit},
    {".gitmodules", kGit},
    {".lfsconfig", kGit},

    {".husky", kHooks},
    {".githooks", kHooks},
    {".git-hooks", kHooks},
    {".lefthook", kHooks},
    {".lefthook*", kHooks},
    {"lefthook.*", kHooks},
    {"lefthook-local.*", kHooks},
    {".pre-commit-config.yaml", kHooks},
    {".pre-commit-config.yml", kHooks},
    {".pre-commit-hooks.yaml", kHooks},
    {".overcommit.yml", kHooks},
    {".simple-git-hooks.*", kHooks},
    {"simple-git-hooks.*", kHooks},
    {".lintstagedrc*", kHooks},
    {"lint-staged.config.*", kHooks},
    {".commitlintrc*", kHooks},
    {"commitlint.config.*", kHooks},
    {"captainhook.json", kHooks},

    {".github/workflows", kCi},
    {".github/actions", kCi},
    {".github/dependabot.*", kCi},
    {".gitea/workflows", kCi},
    {".forgejo/workflows", kCi},
    {".gitlab-ci.*", kCi},
    {".gitlab/ci", kCi},
    {".circleci", kCi},
    {"jenkinsfile*", kCi},
    {".travis.yml", kCi},
    {"azure-pipelines*", kCi},
    {".azure-pipelines", kCi},
    {"bitbucket-pipelines.yml", kCi},
    {".drone.*", kCi},
    {".woodpecker*", kCi},
    {".buildkite", kCi},
    {"appveyor.yml", kCi},
    {".appveyor.yml", kCi},
    {".cirrus.*", kCi},
    {".tekton", kCi},
    {".teamcity", kCi},
    {".semaphore", kCi},
    {".build.yml", kCi},
    {".builds", kCi},
    {"cloudbuild.*", kCi},
    {"buildspec.yml", kCi},
    {"vercel.json", kCi},
    {"netlify.toml", kCi},

    {".vscode", kEditor},
    {"*.code-workspace", kEditor},
    {".idea", kEditor},
    {".fleet", kEditor},
    {".zed", kEditor},
    {".vs", kEditor},
    {".nova", kEditor},
    {".devcontainer*", kEditor},
    {"devcontainer.json", kEditor},
    {".gitpod*", kEditor},
    {".exrc", kEditor},
    {".vimrc", kEditor},
    {".nvimrc", kEditor},
    {".nvim.lua", kEditor},
    {".lvimrc", kEditor},
    {".dir-locals*", kEditor},

    {".claude*", kAgent},
    {"claude*.md", kAgent},
    {".codex", kAgent},
    {"agents*.md", kAgent},
    {".agents", kAgent},
    {".gemini*", kAgent},
    {"gemini*.md", kAgent},
    {".qwen*", kAgent},
    {"qwen*.md", kAgent},
    {".cursor*", kAgent},
    {".windsurf*", kAgent},
    {".clinerules*", kAgent},
    {".roo*", kAgent},
    {".kilocode*", kAgent},
    {".continue*", kAgent},
    {".kiro", kAgent},
    {".amazonq", kAgent},
    {".junie", kAgent},
    {".trae", kAgent},
    {".augment*", kAgent},
    {".crush*", kAgent},
    {"crush*.json", kAgent},
    {".opencode*", kAgent},
    {"opencode.json*", kAgent},
    {".goose*", kAgent},
    {".aider*", kAgent},
    {".mcp.json", kAgent},
    {"mcp.json", kAgent},
    {".github/copilot*", kAgent},
    {".github/instructions", kAgent},
    {".github/prompts", kAgent},
    {".github/agents", kAgent},
    {".github/chatmodes", kAgent},

    {".envrc", kShell},
    {".direnv*", kShell},
    {".autoenv*", kShell},
    {".in", kShell},
    {".mise*", kShell},
    {"mise*.toml", kShell},
    {".config/mise*", kShell},

    {".npmrc", kPackages},
    {".yarnrc*", kPackages},
    {".yarn/releases", kPackages},
    {".yarn/plugins", kPackages},
    {".pnp.*", kPackages},
    {".pnpmfile.*", kPackages},
    {"pnpmfile.*", kPackages},
    {"bunfig.toml", kPackages},
    {".cargo/config*", kPackages},
    {".bundle/config", kPackages},

    {"warder.yaml", "Warder's own configuration"},
};

// Of what git keeps in its own directory: these name programs, or lead to a directory that does.
constexpr Place kGitPlaces[]{
    {"config", kGit},        {"config.worktree", kGit}, {"commondir", kGit},
    {"gitdir", kGit},        {"info/attributes", kGit}, {"hooks", kHook},
    {"rebase-merge", kHook}, {"rebase-apply", kHook},   {"sequencer", kHook},
};

using Names = std::vector<std::string>;

Names lower_case(const fs::path& path) {
  Names names;
  for (const fs::path& part : path) {
    std::string name = part.string();
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    if (!name.empty() && name != ".") names.push_back(std::move(name));
  }
  return names;
}

bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  const std::string_view head = pattern.substr(0, star);
  const std::string_view tail = pattern.substr(star + 1);
  return name.size() >= head.size() + tail.size() && name.starts_with(head) && name.ends_with(tail);
}

// `names` from `at` on are what `pattern` names, or lie in it; or, of what is no directory, it lies above.
bool lies_at(const Names& names, std::size_t at, std::string_view pattern, bool is_directory) {
  while (!pattern.empty()) {
    if (at == names.size()) return !is_directory;
    const std::size_t slash = pattern.find('/');
    if (!matches(pattern.substr(0, slash), names[at++])) return false;
    pattern.remove_prefix(slash == std::string_view::npos ? pattern.size() : slash + 1);
  }
  return true;
}

// In a git directory: its own files, and those of the modules and working trees that it holds.
std::string_view in_git(const Names& names, std::size_t from, bool is_directory) {
  constexpr std::array kNotThere{"objects", "refs", "logs"};  // names there are the user's
  if (from < names.size() && std::any_of(
                                 kNotThere.begin(), kNotThere.end(),
                                 [&](const char* name) { return names[from] == name; }))
    return {};
  for (std::size_t at = from; at < names.size(); ++at) {
    for (const Place& place : kGitPlaces) {
      if (lies_at(names, at, place.pattern, is_directory)) return place.why;
    }
  }
  return {};
}

}  // namespace

std::string_view runs_later(const fs::path& path, bool is_directory) {
  const Names names = lower_case(path);
  bool git = false;
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (names[at].ends_with(".git")) {
      git = true;
      // A file or link in its place names another one.
      if (at + 1 == names.size()) return is_directory || names[at] != ".git" ? "" : kGit;
      if (const std::string_view why = in_git(names, at + 1, is_directory); !why.empty())
        return why;
    }
    for (const Place& place : kPlaces) {
      if (!git && lies_at(names, at, place.pattern, is_directory)) return place.why;
    }
  }
  // Any directory with these three is a repository, whatever it is called; without HEAD it is none.
  if (!git && !names.empty() && names.back() == "head" && !is_directory) return kGit;
  return {};
}

}  // namespace warder
