// Protected directories, attacked from inside: the host must find them as they were.
#include "sandbox-launcher/launch_error.hpp"
#include "sandbox-launcher/view.hpp"
#include "tests/launcher/world.hpp"

namespace warder::test {
namespace {

TEST_CASE(
    "a protected directory is empty, cannot be written and cannot be moved, nor what it lies in") {
  if (!can_run()) return;
  World world;
  const fs::path audit = world.work / "var/log/audit";
  write_file(audit / "audit.jsonl", "evidence\n");
  write_file(world.work / "var/log/other", "other\n");
  world.plan.spec.covered = {audit};
  const Seen seen = world.run(
      "cd " + world.work.string() +
      "; cat var/log/other; ls -A var/log/audit; (echo x > var/log/audit/x) "
      "2>/dev/null && echo wrote; "
      "rmdir var/log/audit 2>/dev/null && echo removed; rm -rf var/log/audit 2>/dev/null && echo "
      "removed; "
      "for d in var var/log var/log/audit; do mv $d away 2>/dev/null && echo moved $d; done; "
      "mkdir new; mv -T new var/log/audit 2>/dev/null && echo replaced; echo y > var/log/made");
  CHECK(seen.out == "other\n");
  CHECK(read_file(audit / "audit.jsonl") == "evidence\n");
  CHECK(fs::exists(world.work / "var/log/made"));
}

TEST_CASE("a protected directory that does not exist is not made") {
  World world;
  world.plan.spec.covered = {world.work / "later/audit", world.root / "elsewhere"};
  const View view = world.view();
  CHECK_FALSE(fs::exists(world.work / "later"));
  if (can_run()) CHECK(run_in(view, "ls -A " + world.work.string()).out.empty());
  CHECK_FALSE(fs::exists(world.work / "later"));
}

TEST_CASE("a protected directory is found behind links") {
  if (!can_run()) return;
  World world;
  write_file(world.work / "real/state/token", "secret\n");
  fs::create_directory_symlink("real", world.work / "by-name");
  fs::create_directory_symlink(world.work / "by-name/state", world.root / "outside");
  world.plan.spec.covered = {world.root / "outside"};
  const Seen seen = world.run("cd " + world.work.string() +
                              "; cat real/state/token by-name/state/token 2>/dev/null; mv real "
                              "gone 2>/dev/null && echo moved");
  CHECK(seen.out.empty());
}

TEST_CASE("a protected directory is empty in a tree that is only read, and in two trees at once") {
  if (!can_run()) return;
  World world;
  write_file(world.root / "data/keys/key", "secret\n");
  write_file(world.work / "sub/keys/key", "secret\n");
  write_file(world.work / "sub/file", "file\n");
  world.plan.spec.read_only = {world.root / "data"};
  world.plan.spec.read_write = {world.work / "sub"};
  world.plan.spec.covered = {world.root / "data/keys", world.work / "sub/keys"};
  const Seen seen = world.run("cat " + (world.root / "data/keys/key").string() +
                              " 2>/dev/null; cd " + world.work.string() +
                              "; cat sub/file; cat sub/keys/key 2>/dev/null; "
                              "mv sub gone 2>/dev/null && echo moved; true");
  CHECK(seen.out == "file\n");
}

TEST_CASE("a --ro beside a protected directory stays read-only") {
  if (!can_run()) return;
  World world;
  write_file(world.work / "a/state/token", "secret\n");
  write_file(world.work / "a/vendor/lib", "lib\n");
  const Fd socket = listen_on(world.work / "a/s");
  world.plan.spec.read_only = {world.work / "a/vendor"};
  world.plan.spec.covered = {world.work / "a/state"};
  const Seen seen =
      world.run("cd " + world.work.string() +
                "/a; ls -A state; cat vendor/lib; (echo x > vendor/x) 2>/dev/null && echo wrote; "
                "test -S s && echo socket; true");
  CHECK(seen.out == "lib\n");
}

TEST_CASE("a socket inside a protected directory needs no mask of its own") {
  if (!can_run()) return;
  World world;
  fs::create_directories(world.work / "state");
  const Fd socket = listen_on(world.work / "state/control");
  world.plan.spec.covered = {world.work / "state"};
  CHECK(world.run("ls -A " + (world.work / "state").string()).out.empty());
}

TEST_CASE("Warder's own executables cannot be changed from inside") {
  if (!can_run()) return;
  World world;
  write_file(world.work / "build/bin/warder", "#!/bin/sh\necho runs\n", 0755);
  world.plan.spec.executable_dir = world.work / "build/bin";
  const Seen seen =
      world.run("cd " + world.work.string() +
                "; build/bin/warder; (echo x > build/bin/warder) 2>/dev/null && echo wrote; "
                "rm -f build/bin/warder 2>/dev/null && echo removed; "
                "for d in build build/bin; do mv $d away 2>/dev/null && echo moved; done; echo x > "
                "build/made");
  CHECK(seen.out == "runs\n");
  CHECK(fs::exists(world.work / "build/made"));
}

TEST_CASE("a name that only begins like a protected one is not protected") {
  if (!can_run()) return;
  World world;
  write_file(world.work / "audit/file");
  write_file(world.work / "audit-tool/file", "tool\n");
  world.plan.spec.covered = {world.work / "audit"};
  CHECK(world.run("cat " + (world.work / "audit-tool/file").string()).out == "tool\n");
}

}  // namespace
}  // namespace warder::test
