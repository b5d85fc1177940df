// Of the paths of a project, which run code without anybody asking for it.
#include "sandbox-launcher/runs_later.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace warder::test {
namespace {

std::string file(const char* path) { return std::string(runs_later(path, false)); }
std::string directory(const char* path) { return std::string(runs_later(path, true)); }

TEST_CASE("hooks and what configures git run later, the rest of a repository does not") {
  CHECK(file(".git/hooks/post-checkout") == "git hook");
  CHECK(file("vendor/lib/.git/hooks/pre-push") == "git hook");
  CHECK(file(".git/modules/lib/hooks/pre-push") == "git hook");
  CHECK(file(".git/rebase-merge/git-rebase-todo") == "git hook");
  for (const char* path : {".git/config", ".git/config.worktree", ".git/info/attributes",
                           ".git/modules/lib/config", ".git/worktrees/w/gitdir", ".gitmodules",
                           "sub/.gitattributes", ".lfsconfig", "store.git/config"})
    CHECK(file(path) == "git configuration");
  for (const char* path : {".git/HEAD", ".git/index", ".git/objects/ab/cdef", ".git/logs/HEAD",
                           ".git/refs/heads/config", ".git/refs/heads/hooks/x", ".gitignore",
                           ".git/objects/pack/pack-1.pack", ".git/COMMIT_EDITMSG"})
    CHECK(file(path).empty());
  CHECK(directory(".git").empty());
  CHECK(directory(".git/hooks") == "git hook");
}

TEST_CASE("attack: a repository under another name, or a git directory that is a file or a link") {
  CHECK(file("data/HEAD") == "git configuration");  // without it the directory is no repository
  CHECK(file("sub/.git") == "git configuration");
  CHECK(file(".GIT/Hooks/pre-commit") == "git hook");  // a file system may not tell them apart
  CHECK(file(".Claude/settings.json") == "agent");
}

TEST_CASE("attack: a link in the place of a directory that such files lie in") {
  CHECK(file(".github") == "CI");
  CHECK(file(".cargo") == "package manager");
  CHECK(file(".git/hooks") == "git hook");
  CHECK(directory(".github").empty());
  CHECK(file(".github/CODEOWNERS").empty());
}

TEST_CASE("what editors, agents, CI, shells and package managers take from a directory") {
  CHECK(file(".github/workflows/ci.yml") == "CI");
  CHECK(file(".gitlab-ci.yml") == "CI");
  CHECK(file("Jenkinsfile") == "CI");
  CHECK(file("packages/a/.vscode/tasks.json") == "editor");
  CHECK(file("x.code-workspace") == "editor");
  CHECK(file(".devcontainer/devcontainer.json") == "editor");
  CHECK(file(".devcontainer.json") == "editor");
  CHECK(file("CLAUDE.md") == "agent");
  CHECK(file("CLAUDE.local.md") == "agent");
  CHECK(file("docs/AGENTS.md") == "agent");
  CHECK(file(".mcp.json") == "agent");
  CHECK(file(".cursorrules") == "agent");
  CHECK(file(".envrc") == "on entering the directory");
  CHECK(file(".npmrc") == "package manager");
  CHECK(file(".yarn/releases/yarn.cjs") == "package manager");
  CHECK(file(".husky/pre-commit") == "hooks manager");
  CHECK(file(".pre-commit-config.yaml") == "hooks manager");
  CHECK(file("lefthook.yml") == "hooks manager");
}

TEST_CASE("the work itself does not count") {
  for (const char* path : {"Makefile", "src/main.c", "package.json", "README.md", "build.rs",
                           "tests/conftest.py", "github/workflows/x", "vscode/settings.json",
                           "src/claude.py", ".yarn/cache/x.zip", ".cargo/registry/x", "overhead"})
    CHECK(file(path).empty());
}

}  // namespace
}  // namespace warder::test
