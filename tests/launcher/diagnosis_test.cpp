// The same refusal on different hosts: which cause is told, by facts laid out as files.
#include "sandbox-launcher/diagnosis.hpp"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "sandbox-launcher/attempt.hpp"
#include "tests/launcher/world.hpp"

using namespace warder;

namespace {

namespace fs = std::filesystem;

// A root directory with the files of /proc that tell hosts apart.
struct Host {
  test::World world;
  fs::path root = world.home / "root";
  Host() {
    file("proc/self/status", "Name:\tx\nSeccomp:\t0\n");
    file("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    file("proc/sys/user/max_net_namespaces", "9000\n");
    file("proc/sys/kernel/osrelease", "6.8.0-31-generic\n");
  }
  Host& file(const std::string& path, const std::string& text) {
    test::write_file(root / path, text);
    return *this;
  }
  std::string_view cause(Step step, int error) const {
    return remedy(cause_of(step, error, read_host_facts(root))).name;
  }
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("BR-110 EPERM at unshare: Debian's switch, Docker's filter, another filter, a chroot") {
  Host host;
  CHECK(host.cause(Step::user_namespace, EPERM) == "security_module");
  host.file("proc/self/status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n");
  CHECK(host.cause(Step::user_namespace, EPERM) == "seccomp");
  host.file(".dockerenv", "");
  CHECK(host.cause(Step::user_namespace, EPERM) == "container_seccomp");
  host.file("proc/self/mountinfo", "22 1 8:1 /srv/root /proc rw - proc proc rw\n");
  CHECK(host.cause(Step::user_namespace, EPERM) == "changed_root");
  host.file("proc/sys/kernel/unprivileged_userns_clone", "0\n");
  CHECK(host.cause(Step::user_namespace, EPERM) == "userns_switched_off");
}

TEST_CASE("BR-110 a switch that is on is no cause") {
  Host host;
  host.file("proc/sys/kernel/unprivileged_userns_clone", "1\n");
  host.file("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "0\n");
  CHECK(host.cause(Step::user_namespace, EPERM) == "security_module");
  CHECK(host.cause(Step::network, EPERM) == "security_module");
}

TEST_CASE("BR-110 ENOSPC: which limit") {
  Host host;
  CHECK(host.cause(Step::user_namespace, ENOSPC) == "userns_limit");
  host.file("proc/sys/user/max_net_namespaces", "0\n");
  CHECK(host.cause(Step::user_namespace, ENOSPC) == "netns_limit");
}

TEST_CASE("BR-110 AppArmor of Ubuntu 24.04: a map or an address is refused, EPERM or EACCES") {
  Host host;
  host.file("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
  for (const int error : {EPERM, EACCES}) {
    CHECK(host.cause(Step::user_map, error) == "apparmor");
    CHECK(host.cause(Step::network, error) == "apparmor");
  }
  CHECK(host.cause(Step::network, EINVAL) == "unknown");
}

TEST_CASE("BR-110 a kernel without namespaces; WSL2; Kubernetes") {
  Host host;
  CHECK(host.cause(Step::user_namespace, EINVAL) == "no_userns");
  CHECK(host.cause(Step::network, EROFS) == "masked_proc");
  host.file("proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n");
  host.file("var/run/secrets/kubernetes.io/serviceaccount/token", "");
  const HostFacts facts = read_host_facts(host.root);
  CHECK(facts.wsl);
  CHECK(facts.container == "kubernetes");
}

TEST_CASE("an empty /proc tells nothing, and nothing fails") {
  const test::World world;
  const HostFacts facts = read_host_facts(world.home / "nowhere");
  CHECK(!facts.userns_clone);
  CHECK(!facts.filtered);
  CHECK(!facts.changed_root);
}

TEST_CASE("the errno in what a program prints") {
  CHECK(error_in("bwrap: setting up uid map: Permission denied") == EACCES);
  CHECK(error_in("Error: Could not process rule: Operation not permitted") == EPERM);
  CHECK(error_in("bwrap: Unknown option --disable-userns") == 0);
}

TEST_CASE("every remedy is a shell command, has a word of its own and stands in docs/doctor.md") {
  const std::string page = text_of(fs::path(WARDER_SOURCE_DIR) / "docs/doctor.md");
  std::set<std::string_view> names;
  for (const Remedy& each : remedies()) {
    INFO(each.name);
    CHECK(names.insert(each.name).second);
    CHECK(&remedy(each.cause) == &each);
    CHECK(cause_named(each.name) == each.cause);
    CHECK(page.find("`" + std::string(each.name) + "`") != std::string::npos);
    const std::string fix = fix_for(each.cause, "/opt/a place/warder-sandbox");
    CHECK(fix.find('@') == std::string::npos);
    FILE* shell = ::popen("sh -n", "w");
    REQUIRE(shell != nullptr);
    std::fputs(fix.c_str(), shell);
    CHECK(::pclose(shell) == 0);
    if (each.cause != Cause::unknown) CHECK(hint(each.cause).find('\n') == std::string::npos);
  }
  CHECK(cause_named("no such word") == Cause::unknown);
}

TEST_CASE("an attempt runs in a process of its own, and its outcome comes back") {
  int here = 0;
  const Attempt good = attempt("good", [&] {
    here = 1;
    return std::string("a detail");
  });
  CHECK(here == 0);
  CHECK(good.outcome == Outcome::ok);
  CHECK(good.said == "a detail");

  const Attempt refused = attempt("refused", []() -> std::string {
    errno = EPERM;
    fail("do it", Cause::apparmor);
  });
  CHECK(refused.outcome == Outcome::refused);
  CHECK(refused.error == EPERM);
  CHECK(refused.cause == Cause::apparmor);
  CHECK(refused.said.starts_with("cannot do it: Operation not permitted"));

  const Attempt missing = attempt("missing", []() -> std::string {
    errno = ENOSYS;
    fail("do it", Cause::old_kernel);
  });
  CHECK(missing.outcome == Outcome::missing);
}

TEST_CASE("an attempt that dies or prints rubbish is refused, and leaves no process") {
  CHECK(attempt("dies", []() -> std::string { ::_exit(0); }).outcome == Outcome::refused);
  CHECK(attempt("throws", []() -> std::string { throw std::runtime_error("\xff\n odd"); }).said !=
        "");
  const Attempt child = attempt("child", [] {
    if (::fork() == 0) ::pause();
    return std::string();
  });
  CHECK(child.outcome == Outcome::ok);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}
