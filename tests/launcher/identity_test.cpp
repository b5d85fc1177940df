// What is left of root afterwards, and what the ordinary user that it became can and cannot reach.
#include "sandbox-launcher/identity.hpp"

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>

#include <functional>

#include "sandbox-launcher/launch_error.hpp"
#include "tests/launcher/world.hpp"

namespace warder::test {
namespace {

constexpr uid_t kNobodysId = 2'000'000'000;

bool is_root() {
  if (::geteuid() == 0) return true;
  WARN("skipped: only root becomes somebody else");
  return false;
}

// A World below a directory that only root may enter, as /root is.
struct RootWorld : World {
  RootWorld() { REQUIRE(::chmod(home.c_str(), 0700) == 0); }
};

// Becomes somebody in a child, says there what does not hold, and returns it: empty when all holds.
std::string after(const LaunchPlan& plan, const std::function<std::string(const Identity&)>& ask) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::string answer;
    try {
      const gid_t group = 4;  // one to lose, wherever the test runs
      if (::setgroups(1, &group) != 0) throw LaunchError("setgroups");
      answer = ask(take_identity(plan, bind_sources(plan)));
    } catch (const LaunchError& error) {
      answer = std::to_string(error.exit_code) + " " + error.what();
    }
    (void)!::write(write_end.get(), answer.data(), answer.size());
    ::_exit(0);
  }
  write_end.reset();
  std::string answer;
  std::array<char, 4096> buffer{};
  for (ssize_t n; (n = ::read(read_end.get(), buffer.data(), buffer.size())) > 0;) {
    answer.append(buffer.data(), static_cast<std::size_t>(n));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  return answer;
}

uid_t owner_of(const fs::path& path) {
  struct stat what{};
  REQUIRE(::lstat(path.c_str(), &what) == 0);
  return what.st_uid;
}

std::string ids_of(const Identity& identity) {
  return std::to_string(identity.uid) + ":" + std::to_string(identity.gid);
}

TEST_CASE("an ordinary user stays who they are") {
  if (::geteuid() == 0) {
    WARN("skipped: started as root");
    return;
  }
  World world;
  const Identity identity = take_identity(world.plan, bind_sources(world.plan));
  CHECK(identity.uid == ::getuid());
  CHECK(identity.gid == ::getgid());
  CHECK(identity.staged.empty());
}

TEST_CASE("the user is the first of SUDO_UID and the workspace's owner that is not root") {
  if (!is_root()) return;
  RootWorld world;
  CHECK(after(world.plan, ids_of) == "2000000000:2000000000");
  for (const char* nonsense : {"0", "-1", "x", "4294967295", "99999999999", "12x", " 12"}) {
    CAPTURE(nonsense);
    world.plan.sudo_uid = nonsense;
    CHECK(after(world.plan, ids_of) == "2000000000:2000000000");
  }
  world.plan.sudo_uid = "12345";
  CHECK(after(world.plan, ids_of) == "12345:12345");
  world.plan.sudo_uid = "";
  REQUIRE(::chown(world.work.c_str(), 54321, 54322) == 0);
  CHECK(after(world.plan, ids_of) == "54321:54322");
  world.plan.sudo_uid = "12345";
  CHECK(after(world.plan, ids_of) == "12345:12345");
}

TEST_CASE("nothing of root can be regained") {
  if (!is_root()) return;
  RootWorld world;
  const std::string answer = after(world.plan, [](const Identity&) -> std::string {
    std::string wrong;
    const auto must_fail = [&](const char* what, bool failed) {
      if (!failed) wrong += std::string(what) + "; ";
    };
    must_fail("setuid", ::setuid(0) != 0);
    must_fail("seteuid", ::seteuid(0) != 0);
    must_fail("setgid", ::setgid(0) != 0);
    must_fail("groups", ::getgroups(0, nullptr) == 0);
    must_fail("shadow", ::access("/etc/shadow", R_OK) != 0);
    must_fail("mount", ::mount("none", "/mnt", "tmpfs", 0, nullptr) != 0);
    must_fail("unshare", ::unshare(CLONE_NEWNS) != 0);
    const std::string status = read_file("/proc/self/status");
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
      must_fail(set, holds(status, std::string(set) + ":\t0000000000000000\n"));
    }
    // The next step writes the maps of a user namespace of its own.
    if (::unshare(CLONE_NEWUSER) != 0) return wrong + "no user namespace";
    const Fd map(::open("/proc/self/uid_map", O_WRONLY));
    const std::string line = "1000 " + std::to_string(kNobodysId) + " 1\n";
    if (!map || ::write(map.get(), line.data(), line.size()) < 0) wrong += "uid_map";
    return wrong;
  });
  CHECK(answer.empty());
}

TEST_CASE("root's workspace is written by nobody's user, and what it makes belongs to root") {
  if (!is_root()) return;
  RootWorld world;
  write_file(world.work / "sub/private", "before\n", 0600);
  write_file(world.work / "other", "other\n", 0600);
  REQUIRE(::chown((world.work / "other").c_str(), 777, 777) == 0);
  const std::string answer = after(world.plan, [&](const Identity& identity) -> std::string {
    const fs::path work = identity.staged.at(world.work);
    if (read_file(work / "sub/private") != "before\n") return "cannot read root's file";
    std::ofstream(work / "sub/private") << "after\n";
    std::ofstream(work / "made") << "made\n";
    if (!read_file(work / "other").empty()) return "read another user's file";
    struct stat made{};
    if (::stat((work / "made").c_str(), &made) != 0) return "not made";
    if (made.st_uid != kNobodysId || made.st_gid != kNobodysId) return "inside it is another's";
    if (::access(world.work.c_str(), F_OK) == 0) return "entered root's directory";
    return "";
  });
  CHECK(answer.empty());
  CHECK(read_file(world.work / "sub/private") == "after\n");
  CHECK(owner_of(world.work / "made") == 0);
  CHECK(owner_of(world.work / "sub/private") == 0);
  CHECK(owner_of(world.work / "other") == 777);
}

TEST_CASE("a sudoer's workspace that belongs to another user stays that user's") {
  if (!is_root()) return;
  RootWorld world;
  world.plan.sudo_uid = "12345";
  REQUIRE(::chown(world.work.c_str(), 54321, 54321) == 0);
  const std::string answer = after(world.plan, [&](const Identity& identity) -> std::string {
    std::ofstream(fs::path(identity.staged.at(world.work)) / "made") << "made\n";
    return "";
  });
  CHECK(answer.empty());
  CHECK(owner_of(world.work / "made") == 54321);
}

TEST_CASE("of a tree that is only read, root's private files stay private") {
  if (!is_root()) return;
  RootWorld world;
  write_file(world.root / "data/open", "open\n", 0644);
  write_file(world.root / "data/private", "private\n", 0600);
  write_file(world.root / "single", "single\n", 0644);
  world.plan.spec.read_only = {world.root / "data", world.root / "single"};
  const std::string answer = after(world.plan, [&](const Identity& identity) -> std::string {
    const fs::path data = identity.staged.at(world.root / "data");
    return read_file(data / "open") + read_file(data / "private") +
           read_file(identity.staged.at(world.root / "single"));
  });
  CHECK(answer == "open\nsingle\n");
}

TEST_CASE("a writable tree that is for everybody keeps its owners") {
  if (!is_root()) return;
  RootWorld world;
  fs::create_directories(world.root / "shared");
  REQUIRE(::chmod((world.root / "shared").c_str(), 01777) == 0);
  world.plan.spec.read_write = {world.root / "shared"};
  CHECK(after(world.plan, [&](const Identity& identity) -> std::string {
          std::ofstream(fs::path(identity.staged.at(world.root / "shared")) / "made") << "x";
          return "";
        }).empty());
  CHECK(owner_of(world.root / "shared/made") == kNobodysId);
}

TEST_CASE("the host's mounts are as before") {
  if (!is_root()) return;
  RootWorld world;
  const std::string before = read_file("/proc/self/mountinfo");
  (void)after(world.plan, ids_of);
  CHECK(read_file("/proc/self/mountinfo") == before);
}

TEST_CASE("a file system that cannot show other owners is named, with the way out") {
  if (!is_root()) return;
  RootWorld world;
  world.plan.spec.read_write = {"/proc/sys/kernel"};
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      (void)take_identity(world.plan, {world.work, "/proc/sys/kernel"});
    } catch (const LaunchError& error) {
      const std::string text = error.what();
      ::_exit(holds(text, "proc") && holds(text, "chown") && error.exit_code == 2 ? 0 : 1);
    }
    ::_exit(2);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a view can be made of what was staged, and its workload is not root on the host") {
  if (!is_root() || !can_run()) return;
  RootWorld world;
  write_file(world.work / "state/token", "secret\n");
  write_file(world.home / ".pyenv/bin/tool", "#!/bin/sh\necho tool\n", 0755);
  write_file(world.home / ".gitconfig", "[user]\nname = Ada\n");
  world.plan.spec.covered = {world.work / "state"};
  world.plan.caller_path = (world.home / ".pyenv/bin").string() + ":/usr/bin:/bin";
  const Fd socket = listen_on(world.work / "s");
  const std::string answer = after(world.plan, [&](const Identity& identity) {
    const auto source_of = [&](const fs::path& path) {
      const auto staged = identity.staged.find(path);
      return staged == identity.staged.end() ? path.string() : staged->second;
    };
    const View view = make_view(world.plan, source_of, identity.uid, identity.gid);
    return run_in(view, "cd " + world.work.string() +
                            "; tool; grep name ~/.gitconfig; ls -A state; test -S s && echo "
                            "socket; echo x > made; id -un; "
                            "cat /etc/shadow 2>/dev/null; ls /root /mnt 2>/dev/null; mv state gone "
                            "2>/dev/null && echo moved; "
                            "true")
        .out;
  });
  CHECK(answer == "tool\n\tname = \"Ada\"\nsandbox\n");
  CHECK(owner_of(world.work / "made") == 0);
}

}  // namespace
}  // namespace warder::test
