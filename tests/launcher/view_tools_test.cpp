// Which directories of a home PATH brings along, and the tricks by which it could bring along too much.
#include "sandbox-launcher/view_tools.hpp"

#include "tests/launcher/world.hpp"

namespace warder::test {
namespace {

using Paths = std::vector<fs::path>;

struct Tools {
  World world;
  fs::path home = world.home;

  void directory(const std::string& name) { fs::create_directories(home / name); }

  // The tools for a PATH of directories of the home.
  Paths found(const std::vector<std::string>& names) {
    std::string path = "/usr/bin";
    for (const std::string& name : names) path += ":" + (home / name).string();
    Paths relative;
    const auto as_it_is = [](const fs::path& each) { return each.string(); };
    for (const fs::path& each : tools_in_home(home, path, as_it_is)) {
      relative.push_back(each.lexically_relative(home));
    }
    return relative;
  }
};

TEST_CASE("a tool is shown with its root, any other directory alone") {
  Tools tools;
  for (const char* name : {".pyenv/shims", ".pyenv/bin", ".pyenv/versions", ".cargo/bin", ".rustup",
                           "go/bin", ".nvm/versions/node/v22/bin", "bin", ".odd/tool/bin"}) {
    tools.directory(name);
  }
  CHECK(tools.found({".pyenv/shims", ".pyenv/bin"}) == Paths{".pyenv"});
  CHECK(tools.found({".cargo/bin"}) == Paths{".cargo/bin", ".rustup"});
  CHECK(tools.found({".nvm/versions/node/v22/bin"}) == Paths{".nvm"});
  CHECK(tools.found({"go/bin", "bin", ".odd/tool/bin"}) == Paths{".odd/tool/bin", "bin", "go/bin"});
  CHECK(tools.found({"missing/bin"}).empty());
}

TEST_CASE("neither the home nor a directory of credentials is a tool") {
  Tools tools;
  for (const char* name : {".ssh/bin", ".aws", ".config/tool/bin", ".docker/bin", ".kube", ".gnupg",
                           ".cargo/bin", ".local/share", ".local/share/keyrings"}) {
    tools.directory(name);
  }
  CHECK(tools
            .found({".", "", "..", "../me", ".cargo/..", ".ssh", ".ssh/bin", ".aws",
                    ".config/tool/bin", ".docker/bin", ".kube", ".gnupg", ".cargo", ".cargo/bin/..",
                    ".local/share", ".local", ".local/share/keyrings"})
            .empty());
  fs::create_directory_symlink(".ssh", tools.home / "bin");
  fs::create_directory_symlink(".", tools.home / "self");
  fs::create_directory_symlink("/", tools.home / "all");
  CHECK(tools.found({"bin", "self", "all"}).empty());
}

TEST_CASE("a link in ~/.local/bin brings along what it leads to, and no keyring") {
  Tools tools;
  tools.directory(".local/bin");
  write_file(tools.home / ".local/share/tool/versions/1/run");
  tools.directory(".local/share/mail");
  tools.directory(".local/share/keyrings");
  fs::create_symlink("../share/tool/versions/1/run", tools.home / ".local/bin/run");
  fs::create_symlink(tools.home / ".local/share/keyrings", tools.home / ".local/bin/keys");
  CHECK(tools.found({".local/bin"}) == Paths{".local/bin", ".local/share/tool"});
}

TEST_CASE("a PATH is taken apart in order, without relative directories and repetitions") {
  CHECK(directories_on("/a:/b/:./c::/a:d:/b") == Paths{"/a", "/b"});
  CHECK(directories_on("").empty());
  CHECK(directories_on(":::").empty());
}

TEST_CASE("tools run inside, read-only, at their own path and by $HOME") {
  if (!can_run()) return;
  World world;
  write_file(world.home / ".pyenv/shims/tool", "#!/bin/sh\ncat ~/.pyenv/data\n", 0755);
  write_file(world.home / ".pyenv/data", "works\n");
  write_file(world.home / ".cargo/bin/other", "#!/bin/sh\necho other\n", 0755);
  write_file(world.home / ".cargo/credentials.toml", "secret\n");
  world.plan.caller_path =
      (world.home / ".pyenv/shims").string() + ":" + (world.home / ".cargo/bin").string() +
      ":/nowhere/bin:" + (world.home / ".ssh").string() + ":/usr/bin:/bin:relative";
  const View view = world.view();
  CHECK(view.path == (world.home / ".pyenv/shims").string() + ":" +
                         (world.home / ".cargo/bin").string() + ":/usr/bin:/bin");
  const Seen seen =
      run_in(view, "tool; other; ls -A ~/.cargo " + (world.home / ".cargo").string() +
                       "; (echo x > ~/.pyenv/x) 2>/dev/null && echo wrote; echo x > ~/.cargo/made");
  CHECK(seen.out == "works\nother\n/home/sandbox/.cargo:\nbin\n\n" +
                        (world.home / ".cargo").string() + ":\nbin\n");
}

TEST_CASE("a sandbox cannot choose by a link what the next one sees") {
  World world;
  write_file(world.home / "mail/inbox", "private\n");
  fs::create_directory_symlink(world.home / "mail", world.work / "bin");
  world.plan.caller_path = (world.work / "bin").string() + ":/usr/bin";
  const View view = world.view();
  CHECK(view.path == "/usr/bin");
  for (const std::string& word : view.arguments) CHECK_FALSE(holds(word, "mail"));
  if (can_run())
    CHECK(run_in(view, "cat " + (world.work / "bin/inbox").string() + " 2>/dev/null").out.empty());
}

TEST_CASE("a directory on PATH in the workspace stays writable") {
  if (!can_run()) return;
  World world;
  write_file(world.work / "node_modules/.bin/tool", "#!/bin/sh\necho tool\n", 0755);
  world.plan.caller_path = (world.work / "node_modules/.bin").string() + ":/usr/bin:/bin";
  CHECK(world.run("tool; echo x > " + (world.work / "node_modules/.bin/made").string()).out ==
        "tool\n");
  CHECK(fs::exists(world.work / "node_modules/.bin/made"));
}

}  // namespace
}  // namespace warder::test
