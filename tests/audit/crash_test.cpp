// BR-128: a gateway that is killed at any moment.
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>
#include <map>
#include <random>

#include "tests/audit/support.hpp"

using namespace warder;
using namespace warder::audit;
using namespace warder::audit::test;

namespace {

using Outcome = Verification::Outcome;

const SystemClock kClock;

Verification verify_in(const TempDir& dir) {
  return verify_with_key(dir / "a.jsonl", dir / "audit.key");
}

}  // namespace

// A process of its own that records until it is killed; started by the next test.
TEST_CASE("child: records until it is killed", "[.child]") {
  const char* given = std::getenv("WARDER_TEST_DIR");
  if (given == nullptr) return;  // a filter such as ~[bench] chose it: nobody is there to kill it
  const fs::path dir = given;
  auto log = Log::open({dir / "a.jsonl", dir / "audit.key", "gw1"}, kClock);
  for (std::uint64_t i = 0;; ++i) {
    log->append(intent(i), i % 3 == 0 ? Durability::durable : Durability::accepted, 1,
                [&, i](bool ok, std::uint64_t seq) {
                  if (!ok) return;
                  // What the client was told, told to the parent: one short write is one piece.
                  const std::string told = std::to_string(seq) + " " + std::to_string(i) + "\n";
                  (void)!::write(STDOUT_FILENO, told.data(), told.size());
                  log->append_receipt(receipt(i, seq));
                });
    if (i % 64 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_CASE("BR-128 kill -9 thirty times: each restart goes on, nothing that was answered is lost") {
  const TempDir dir;
  std::minstd_rand random(42);
  std::map<std::string, std::string> answered;  // seq -> exchange
  ::setenv("WARDER_TEST_DIR", dir.path().c_str(), 1);
  for (int round = 0; round < 30; ++round) {
    std::array<int, 2> pipe{};
    REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    std::string self = "test_audit", name = "child: records until it is killed";
    std::array<char*, 3> arguments{self.data(), name.data(), nullptr};
    pid_t child = 0;
    const std::string exe = fs::read_symlink("/proc/self/exe").string();
    REQUIRE(::posix_spawn(&child, exe.c_str(), &actions, nullptr, arguments.data(), environ) == 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
    std::string told;
    std::array<char, 4096> buffer;
    const auto want = random() % 4000;
    ssize_t n = 0;
    while (told.size() < want && (n = ::read(pipe[0], buffer.data(), buffer.size())) > 0) {
      told.append(buffer.data(), static_cast<std::size_t>(n));
    }
    ::kill(child, SIGKILL);
    while ((n = ::read(pipe[0], buffer.data(), buffer.size())) > 0) {
      told.append(buffer.data(), static_cast<std::size_t>(n));
    }
    ::close(pipe[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    std::istringstream words(told.substr(0, told.rfind('\n') + 1));
    for (std::string seq, number; words >> seq >> number;) answered[seq] = number;
  }
  ::unsetenv("WARDER_TEST_DIR");
  CHECK(verify_in(dir).kind == "truncated");
  Log::open(options_in(dir), kClock)->close();
  const Verification result = verify_in(dir);
  CHECK(result.kind == "");
  CHECK(result.outcome == Outcome::intact);
  CHECK(result.crashes == 30);
  const auto lines = lines_of(read_file(dir / "a.jsonl"));
  CHECK(answered.size() > 100);  // else nothing was tried
  std::size_t missing = 0;
  for (const auto& [seq, number] : answered) {
    const auto line = ParsedLine::parse(lines.at(std::stoull(seq)));
    if (!line || line->type != "intent" || std::to_string(*line->number("exchange")) != number) {
      ++missing;
    }
  }
  CHECK(missing == 0);
}
