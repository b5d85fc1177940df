#include "secrets/source_exec.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "secrets/placeholder.hpp"
#include "tests/secrets/folder.hpp"

using namespace warder;
using namespace warder::test;
using namespace std::chrono_literals;

namespace {

ExecParts parts(const std::filesystem::path& program, std::vector<std::string> arguments = {}) {
  ExecParts made;
  made.secret = "tok";
  made.program = program;
  made.argv = std::move(arguments);
  made.argv.insert(made.argv.begin(), program.string());
  made.timeout = 5s;
  made.variables = [] {
    static constexpr std::string_view kPath = "PATH=/usr/bin:/bin";
    WipedBytes path(kPath.begin(), kPath.end());
    path.push_back('\0');
    return std::vector<WipedBytes>{path};
  };
  return made;
}
std::string says(ExecParts made) { return outcome(exec_source(std::move(made))->read({})); }

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE(
    "a helper's output is the value, its arguments are not expanded, its environment is small") {
  const Folder folder;
  CHECK(says(parts(folder.script("plain", "echo s3cret-value"))) == "s3cret-value");
  CHECK(says(parts("/usr/bin/printf", {"%s", "$HOME;`id`"})) == "$HOME;`id`");
  // Printed by the kernel, not by a shell that adds its own variables.
  const auto env = folder.path / "env";
  CHECK(says(parts(folder.script("e", "tr '\\0' ' ' < /proc/self/environ > " + env.string() +
                                          "; pwd >> " + env.string() + "; echo s3cret-value"))) ==
        "s3cret-value");
  CHECK(text_of(env).find("PATH=/usr/bin:/bin") != std::string::npos);
  CHECK(text_of(env).find("WARDER_SECRET=tok") != std::string::npos);
  CHECK(text_of(env).find("HOME=") == std::string::npos);
  CHECK(text_of(env).ends_with("/\n"));
}

TEST_CASE("a helper has no descriptor but three and no signal blocked") {
  const Folder folder;
  int open_one[2];
  REQUIRE(::pipe(open_one) == 0);  // not close-on-exec
  sigset_t some;
  ::sigemptyset(&some);
  ::sigaddset(&some, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &some, nullptr);
  const auto seen = folder.path / "seen";
  CHECK(says(parts(folder.script("fds", "ls /proc/$$/fd | tr '\\n' ' ' > " + seen.string() +
                                            "; echo s3cret-value"))) == "s3cret-value");
  CHECK(says(parts("/usr/bin/awk", {"/^SigBlk/ { print $2 }", "/proc/self/status"})) ==
        "0000000000000000");
  ::pthread_sigmask(SIG_UNBLOCK, &some, nullptr);
  ::close(open_one[0]);
  ::close(open_one[1]);
  // 10 or so is the shell's own script.
  const std::string text = text_of(seen);
  CHECK(text.starts_with("0 1 "));
  CHECK(text.find(" " + std::to_string(open_one[1]) + " ") == std::string::npos);
}

TEST_CASE("a helper has a session of its own, so no terminal to ask on") {
  const Folder folder;
  // The sixth field of its stat.
  CHECK(
      says(parts(folder.script("sid",
                               "read -r _ _ _ _ _ sid _ < /proc/$$/stat; [ $sid = $$ ] || exit 1\n"
                               "if (echo asks > /dev/tty) 2>/dev/null; then exit 2; fi\n"
                               "echo own-session"))) == "own-session");
}

TEST_CASE("a helper that fails is told by name and code, never by what it printed") {
  const Folder folder;
  CHECK(says(parts(folder.script("seven", "echo s3cret-value; exit 7"))) ==
        "failing: the helper seven ended with exit code 7");
  CHECK(says(parts(folder.script("killed", "echo s3cret-value; kill -9 $$"))) ==
        "failing: the helper killed was ended by signal 9");
  CHECK(says(parts(folder.script("empty", ""))) ==
        "failing: the value of the helper empty is empty");
  CHECK(says(parts(folder.script("lines", "echo s3cret-value; echo more-of-it"))).find("s3cret") ==
        std::string::npos);
  CHECK(
      says(parts(folder.path / "none")).starts_with("failing: the helper none cannot be started"));
}

TEST_CASE("16 KiB is a value, more is not, and an endless helper is stopped early") {
  const Folder folder;
  const std::string most = std::to_string(kMaxSecretBytes);
  CHECK(says(parts(folder.script("most", "head -c " + most + " /dev/zero | tr '\\0' x; echo"))) ==
        std::string(kMaxSecretBytes, 'x'));
  CHECK(fails(exec_source(parts(folder.script(
                              "more", "head -c " + most + " /dev/zero | tr '\\0' x; echo y")))
                  ->read({})));
  const auto begin = std::chrono::steady_clock::now();
  CHECK(says(parts("/usr/bin/yes", {"xxxxxxxx"})) ==
        "failing: the helper yes wrote more than a value's 16384 bytes");
  CHECK(std::chrono::steady_clock::now() - begin < 3s);
}

TEST_CASE("a helper that does not end is killed with all its children, in time") {
  const Folder folder;
  const auto pid = folder.path / "pid";
  auto slow = parts(folder.script("slow", "sleep 60 & echo $! > " + pid.string() + "; wait"));
  slow.timeout = 300ms;
  const auto begin = std::chrono::steady_clock::now();
  CHECK(says(slow) == "failing: the helper slow did not end in time");
  CHECK(std::chrono::steady_clock::now() - begin < 3s);
  const int child = std::stoi(text_of(pid));
  for (int i = 0; i < 100 && ::kill(child, 0) == 0; ++i) {
    // A zombie, until whoever inherited it has waited for it.
    if (text_of("/proc/" + std::to_string(child) + "/stat").find(") Z ") != std::string::npos)
      break;
    std::this_thread::sleep_for(10ms);
  }
  const std::string stat = text_of("/proc/" + std::to_string(child) + "/stat");
  CHECK((stat.empty() || stat.find(") Z ") != std::string::npos));
}

TEST_CASE(
    "a helper that closes its output and stays is killed too, one that ignores its input is not") {
  const Folder folder;
  auto stays = parts(folder.script("stays", "exec >&- 2>&-; sleep 60"));
  stays.timeout = 300ms;
  CHECK(says(stays) == "failing: the helper stays did not end in time");
  auto deaf = parts(folder.script("deaf", "exec <&-; sleep 0.1; echo password=s3cret-value"));
  deaf.format = HelperFormat::git_credential;
  deaf.host = "api.test";
  CHECK(says(deaf) == "s3cret-value");
}

TEST_CASE("a helper ends with the gateway") {
  const Folder folder;
  const auto source = exec_source(parts(folder.script("slow", "exec sleep 60")));
  std::stop_source stop;
  std::thread later([&] {
    std::this_thread::sleep_for(200ms);
    stop.request_stop();
  });
  const auto begin = std::chrono::steady_clock::now();
  CHECK(outcome(source->read(stop.get_token())) ==
        "failing: the helper slow was ended with the gateway");
  CHECK(std::chrono::steady_clock::now() - begin < 2s);
  later.join();
}

TEST_CASE("what a helper says on stderr is passed on: cut, printable, without the value") {
  const Folder folder;
  const auto source = exec_source(parts(
      folder.script("chatty", "printf 'got s3cret-value \\033[2J\\n' >&2; echo s3cret-value")));
  const Reading reading = source->read({});
  CHECK(outcome(reading) == "s3cret-value");
  CHECK(reading.said == "chatty says: got ************ ?[2J");
  const Reading much =
      exec_source(parts(folder.script("much", "yes aaaa | head -c 100000 >&2; exit 1")))->read({});
  CHECK(fails(much));
  CHECK(much.said.size() < 600);
}

TEST_CASE("helpers of git and docker are asked for their host") {
  const Folder folder;
  auto git = parts(folder.script("git-credential-x", R"(
[ "$1" = get ] || exit 9
while IFS= read -r line && [ -n "$line" ]; do case $line in host=*) host=${line#host=};; esac; done
printf 'username=u\npassword=for-%s\n\n' "$host")"),
                   {"get"});
  git.format = HelperFormat::git_credential;
  git.host = "github.com";
  CHECK(says(git) == "for-github.com");
  auto docker = parts(folder.script("docker-credential-x", R"(
[ "$1" = get ] || exit 9
read -r server
printf '{"ServerURL":"%s","Username":"u","Secret":"for-%s"}' "$server" "$server")"),
                      {"get"});
  docker.format = HelperFormat::docker_credential;
  docker.host = "ghcr.io";
  CHECK(says(docker) == "for-ghcr.io");
}

TEST_CASE("an answer is good for as long as the configuration says") {
  const Folder folder;
  auto made = parts(folder.script("plain", "echo s3cret-value"));
  CHECK(exec_source(made)->read({}).lifetime == SourceDuration::zero());
  made.cache = 90s;
  CHECK(exec_source(made)->read({}).lifetime == 90s);
  CHECK(exec_source(made)->is_slow());
}
