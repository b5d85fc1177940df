// What of a working tree is held fast or hidden, attacked from inside; and nothing is made on the host for it.
#include "sandbox-launcher/launch_error.hpp"
#include "sandbox-launcher/view.hpp"
#include "tests/launcher/world.hpp"

namespace warder::test {
namespace {

TEST_CASE("attack: a protected path cannot be written, moved or replaced, nor what it lies in") {
  if (!can_run()) return;
  World world;
  write_file(world.work / ".git/hooks/x", "hook\n");
  write_file(world.work / ".git/config", "config\n");
  world.plan.spec.protected_paths = {world.work / ".git/hooks", world.work / ".git/config",
                                     world.work / ".vscode", world.work};
  const Seen seen = world.run(
      "cd " + world.work.string() +
      "; cat .git/hooks/x .git/config; exec 2>/dev/null; (echo x > .git/hooks/y) && echo wrote; "
      "(echo x > .git/config) && echo wrote; rm -rf .git/hooks; mv .git gone && echo moved; "
      "echo n > n; mv n .git/config && echo replaced; echo y > .git/index && echo fine");
  CHECK(seen.out == "hook\nconfig\nfine\n");
  CHECK(read_file(world.work / ".git/config") == "config\n");
  CHECK_FALSE(fs::exists(world.work / ".vscode"));
}

TEST_CASE(
    "attack: a hidden file is empty and cannot be written or removed, even where it is moved "
    "along") {
  if (!can_run()) return;
  World world;
  write_file(world.work / "app/.env", "secret\n");
  write_file(world.work / ".git/config", "password\n");
  world.plan.spec.masked = {world.work / "app/.env", world.work / "missing", world.work / "app"};
  world.plan.spec.shown_texts = {{world.work / ".git/config", "without\n"}};
  const Seen seen = world.run("cd " + world.work.string() +
                              "; exec 2>&1; cat app/.env .git/config; exec 2>/dev/null; "
                              "(echo x > app/.env) && echo wrote; rm app/.env && echo removed; "
                              "mv app other; cat other/.env; test -e missing && echo made");
  CHECK(seen.out == "without\n");
  CHECK(read_file(world.work / "other/.env") == "secret\n");
  CHECK_FALSE(fs::exists(world.work / "missing"));
}

TEST_CASE("a hidden file behind a link that has come to stand there is refused") {
  World world;
  write_file(world.work / "real/.env", "secret\n");
  fs::create_directory_symlink("real", world.work / "app");
  world.plan.spec.masked = {world.work / "app/.env"};
  CHECK_THROWS_AS(world.view(), LaunchError);
}

TEST_CASE("a working directory that is only read, and a home of which nothing is seen") {
  if (!can_run()) return;
  World world;
  write_file(world.work / "file", "text\n");
  write_file(world.home / ".gitconfig", "[user]\n\tname = Somebody\n");
  write_file(world.home / ".local/bin/tool", "#!/bin/sh\necho tool\n", 0755);
  world.plan.caller_path = (world.home / ".local/bin").string() + ":/usr/bin:/bin";
  const std::string script = "cd " + world.work.string() +
                             "; exec 2>/dev/null; cat file; (echo x > made) && echo wrote; tool; "
                             "grep -o Somebody ~/.gitconfig; true";
  CHECK(world.run(script).out == "text\nwrote\ntool\nSomebody\n");
  fs::remove(world.work / "made");
  world.plan.spec.workspace_access = WorkspaceAccess::read_only;
  world.plan.spec.caller_home = CallerHome::hidden;
  CHECK(world.run(script).out == "text\n");
}

TEST_CASE("links in the private home lead where they say, and to nowhere else") {
  if (!can_run()) return;
  World world;
  fs::create_directories(world.root / "cache/cargo/registry");
  world.plan.spec.home = {{".cache", world.root / "cache", HomeTree::Access::read_write}};
  world.plan.spec.home_links = {{".cargo/registry", ".cache/cargo/registry"}};
  CHECK(world.run("echo x > ~/.cargo/registry/x; cat ~/.cache/cargo/registry/x").out == "x\n");
  world.plan.spec.home_links = {{"../x", ".cache"}};
  CHECK_THROWS_AS(world.view(), LaunchError);
  world.plan.spec.home_links = {{"x", "/etc"}};
  CHECK_THROWS_AS(world.view(), LaunchError);
}

}  // namespace
}  // namespace warder::test
