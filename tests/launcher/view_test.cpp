// What a process inside can and cannot see, asked from inside.
#include "sandbox-launcher/view.hpp"

#include "sandbox-launcher/launch_error.hpp"
#include "tests/launcher/world.hpp"

namespace warder::test {

std::string World::refusal() const {
  try {
    (void)bind_sources(plan);
    (void)view();
  } catch (const LaunchError& error) {
    CHECK(error.exit_code == 2);
    return error.what();
  }
  return {};
}

namespace {

TEST_CASE("the root of a sandbox holds what was allowed and nothing else") {
  if (!can_run()) return;
  World world;
  write_file(world.home / "diary", "dear diary\n");
  write_file(world.root / "other/secret");
  const Seen seen =
      world.run("ls -A /home /run /var /root /srv /mnt /media /sys 2>/dev/null; ls -A " +
                world.home.string() + "; ls -A " + world.root.string());
  CHECK(holds(seen.out, "/home:\nsandbox\n"));
  CHECK(holds(seen.out, "/run:\n\n"));
  CHECK(holds(seen.out, "/var:\ntmp\n"));
  CHECK_FALSE(holds(seen.out, "/srv:"));
  CHECK_FALSE(holds(seen.out, "/mnt:"));
  CHECK_FALSE(holds(seen.out, "/media:"));
  CHECK_FALSE(holds(seen.out, "diary"));
  CHECK_FALSE(holds(seen.out, "other"));
}

TEST_CASE("the system can be used and not changed") {
  if (!can_run()) return;
  World world;
  const Seen seen = world.run(
      "set -e; test -x /bin/sh; test -c /dev/null; test -d /proc/self; echo x > /dev/null; echo x "
      "> /dev/shm/x; "
      "echo x > /tmp/x; echo x > /var/tmp/x; echo x > /run/x; "
      "stat -c %a /tmp /var/tmp /dev/shm /run /home/sandbox /var /home /etc; set +e; "
      "for f in /x /etc/x /usr/x /var/x /dev/x /etc/hosts; do (echo x > $f) 2>/dev/null && echo "
      "wrote $f; done; true");
  CHECK(seen.out == "1777\n1777\n1777\n755\n700\n755\n755\n755\n");
  CHECK(seen.code == 0);
}

TEST_CASE("/etc has our names, users and resolver, and no shadow file") {
  if (!can_run()) return;
  World world;
  const std::string uid = std::to_string(::getuid());
  const Seen seen = world.run(
      "cat /etc/hosts /etc/resolv.conf /etc/hostname; grep ^hosts /etc/nsswitch.conf; "
      "grep ^sandbox: /etc/passwd; ls /etc");
  CHECK(holds(seen.out,
              "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n"
              "nameserver 127.0.0.1\nsandbox\nhosts: files dns\n"));
  CHECK(holds(seen.out, "sandbox:x:" + uid + ":"));
  CHECK_FALSE(holds(seen.out, "shadow"));
  CHECK_FALSE(holds(seen.out, "machine-id"));
  CHECK_FALSE(holds(seen.out, "passwd-"));
}

TEST_CASE("the workspace is written at its own path") {
  if (!can_run()) return;
  World world;
  const Seen seen =
      world.run("cd " + world.work.string() + " && echo made > inside && stat -c %a .. ../..");
  CHECK(seen.out == "755\n755\n");
  CHECK(read_file(world.work / "inside") == "made\n");
  CHECK_FALSE(fs::exists(world.home / ".gitconfig"));
}

TEST_CASE("--ro is read, --rw is written, and --ro wins inside the workspace") {
  if (!can_run()) return;
  World world;
  write_file(world.root / "data/read", "data\n");
  write_file(world.work / "vendor/lib", "vendor\n");
  fs::create_directories(world.root / "cache");
  world.plan.spec.read_only = {world.root / "data", world.work / "vendor"};
  world.plan.spec.read_write = {world.root / "cache"};
  const Seen seen = world.run("cd " + world.root.string() +
                              "; cat data/read home/me/project/vendor/lib; "
                              "echo x > cache/made; for f in data/x home/me/project/vendor/x; do "
                              "(echo x > $f) 2>/dev/null && echo wrote $f; done");
  CHECK(seen.out == "data\nvendor\n");
  CHECK(fs::exists(world.root / "cache/made"));
}

TEST_CASE("a --ro that is a symlink can be used by both of its names") {
  if (!can_run()) return;
  World world;
  write_file(world.root / "real/file", "found\n");
  fs::create_directory_symlink(world.root / "real", world.root / "link");
  world.plan.spec.read_only = {world.root / "link"};
  CHECK(world
            .run("cat " + (world.root / "link/file").string() + " " +
                 (world.root / "real/file").string())
            .out == "found\nfound\n");
}

TEST_CASE("of the caller's git configuration only the person is inside") {
  if (!can_run()) return;
  World world;
  write_file(world.home / ".gitconfig",
             "[user]\n\tname = Ada L\n\temail = ada@example.org\n\tsigningkey = KEY\n"
             "[url \"https://ada:t0ken@example.org/\"]\n\tinsteadOf = https://example.org/\n"
             "[credential]\n\thelper = store\n");
  const Seen seen = world.run("cat ~/.gitconfig; echo new > ~/.gitconfig && cat ~/.gitconfig");
  CHECK(
      seen.out ==
      "[user]\n\tname = \"Ada L\"\n\temail = \"ada@example.org\"\n[safe]\n\tdirectory = *\nnew\n");
  CHECK(holds(read_file(world.home / ".gitconfig"), "t0ken"));
}

TEST_CASE("a socket in the workspace cannot be reached") {
  if (!can_run()) return;
  World world;
  fs::create_directories(world.work / "run");
  const Fd near = listen_on(world.work / "agent.sock");
  const Fd further = listen_on(world.work / "run/d.sock");
  const Seen seen = world.run(
      "cd " + world.work.string() +
      "; for s in agent.sock run/d.sock; do test -e $s || echo lost; test -S $s && echo socket; "
      "cat $s 2>/dev/null && echo read; rm -f $s 2>/dev/null && echo removed; done; "
      "mv run away && test -S away/d.sock && echo moved; true");
  CHECK(seen.out.empty());
}

TEST_CASE("a socket in a tree that is only read cannot be reached either") {
  if (!can_run()) return;
  World world;
  fs::create_directories(world.root / "data");
  const Fd socket = listen_on(world.root / "data/s");
  world.plan.spec.read_only = {world.root / "data"};
  CHECK(world.run("test -S " + (world.root / "data/s").string() + " && echo socket; true")
            .out.empty());
}

TEST_CASE("trees of the host stand in the private home, and only they") {
  if (!can_run()) return;
  World world;
  write_file(world.root / "stage/.agent/settings", "copy\n");
  fs::create_directories(world.root / "stage/.agent/kept");
  write_file(world.home / ".agent/kept/session", "theirs\n");
  write_file(world.home / ".agent/tools/tool", "tool\n");
  write_file(world.home / ".agent/credentials", "secret\n");
  using Tree = HomeTree::Access;
  world.plan.spec.home = {{".agent", world.root / "stage/.agent", Tree::read_write},
                          {".agent/kept", world.home / ".agent/kept", Tree::read_write},
                          {".agent/tools", world.home / ".agent/tools", Tree::read_only},
                          {".config/a/b", world.home / ".agent/tools/tool", Tree::read_only}};
  const Fd socket = listen_on(world.home / ".agent/kept/s");
  const Seen seen = world.run(
      "cd; find .agent .config -type f | sort; echo new > .agent/t && mv .agent/t .agent/settings; "
      "echo more >> .agent/kept/session; (echo x > .agent/tools/tool) 2>/dev/null && echo wrote; "
      "test -S .agent/kept/s && echo socket; mv .agent away 2>/dev/null && echo moved; "
      "cat .config/a/b; stat -c %a . .config .config/a");
  CHECK(seen.out ==
        ".agent/kept/session\n.agent/settings\n.agent/tools/tool\n.config/a/"
        "b\ntool\n700\n755\n755\n");
  CHECK(read_file(world.root / "stage/.agent/settings") == "new\n");
  CHECK(read_file(world.home / ".agent/kept/session") == "theirs\nmore\n");
  world.plan.spec.argv = {"true"};
  CHECK(plan_from_json(to_json(world.plan)).spec.home.at(3).at == ".config/a/b");
}

TEST_CASE("what would lie outside of the private home is refused") {
  World world;
  for (const char* at : {"", ".", "..", "../x", "/etc", "a/../..", "a/.", "a/"}) {
    CAPTURE(at);
    world.plan.spec.home = {{at, world.home, HomeTree::Access::read_only}};
    CHECK(holds(world.refusal(), "no place in the sandbox's home"));
  }
  world.plan.spec.home = {{"a", "relative", HomeTree::Access::read_only}};
  CHECK(holds(world.refusal(), "no place"));
}

TEST_CASE("a sandbox that would lose or open too much is refused") {
  World world;
  CHECK(world.refusal().empty());
  SECTION("a missing --ro") {
    world.plan.spec.read_only = {world.root / "absent"};
    CHECK(holds(world.refusal(), "absent cannot be shown"));
  }
  SECTION("--ro of everything, of /etc, of what holds the private home") {
    for (const char* path :
         {"/", "/etc", "/proc/1", "/dev", "/sys/fs", "/home", "/home/sandbox", "//", "/etc/."}) {
      world.plan.spec.read_only = {path};
      CHECK(holds(world.refusal(), "--ro"));
    }
  }
  SECTION("a link to everything") {
    fs::create_directory_symlink("/", world.root / "all");
    world.plan.spec.read_only = {world.root / "all"};
    CHECK(holds(world.refusal(), "--ro"));
  }
  SECTION("the home as the workspace") {
    world.plan.spec.workspace = world.home;
    CHECK(holds(world.refusal(), "--rw"));
  }
  SECTION("the workspace among what must not be seen") {
    world.plan.spec.covered = {world.work};
    CHECK(holds(world.refusal(), "must not see"));
  }
  SECTION("a tree below what must not be seen") {
    write_file(world.work / "a/b/file");
    world.plan.spec.read_only = {world.work / "a/b"};
    world.plan.spec.covered = {world.work / "a"};
    CHECK(holds(world.refusal(), "must not see"));
  }
  SECTION("Warder installed in the workspace itself") {
    world.plan.spec.executable_dir = world.work;
    CHECK(holds(world.refusal(), "executables"));
  }
}

TEST_CASE("system directories and homes are no workspaces") {
  const auto refused = [](const char* path) {
    return !refuse_workspace(path, "/data/people/me").empty();
  };
  for (const char* path : {"/",
                           "/tmp",
                           "/var/tmp",
                           "/etc",
                           "/etc/apt",
                           "/usr",
                           "/usr/bin",
                           "/usr/local",
                           "/root",
                           "/home",
                           "/proc/self",
                           "/dev/shm/x",
                           "/var",
                           "/opt",
                           "/run",
                           "/tmp/",
                           "/tmp/.",
                           "/tmp/x/..",
                           "//",
                           "/data/people/me",
                           "/data/people/me/",
                           "/data/people",
                           "/data",
                           "relative",
                           ""}) {
    CAPTURE(path);
    CHECK(refused(path));
    CHECK(holds(refuse_workspace(path, "/data/people/me"), "--rw"));
  }
  for (const char* path : {"/tmp/x", "/data/people/me/p", "/data/people/mend", "/usr/src/app",
                           "/root/x", "/srv/app", "/home/other/p", "/work", "/opt/app"}) {
    CAPTURE(path);
    CHECK_FALSE(refused(path));
  }
  CHECK(refuse_workspace("/work", "").empty());
}

TEST_CASE("a workspace that is a link to a home is seen through") {
  World world;
  fs::create_directory_symlink(world.home, world.root / "link");
  CHECK_FALSE(refuse_workspace(world.root / "link", world.home).empty());
}

}  // namespace
}  // namespace warder::test
