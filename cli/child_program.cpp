#include "cli/child_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/fd.hpp"

namespace warder {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    read = Fd(ends[0]);
    write = Fd(ends[1]);
  }
  Fd read;
  Fd write;
};

[[noreturn]] void become(const ChildProgram& program, int out, int err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  for (const auto& [name, value] : program.environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& word : program.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  if (::chdir(program.directory.c_str()) == 0) ::execv(argv.front(), argv.data());
  ::_exit(127);
}

void take(Fd& from, std::string& into) {
  std::array<char, 4096> piece{};
  const ssize_t n = ::read(from.get(), piece.data(), piece.size());
  if (n < 0 && errno == EINTR) return;
  if (n <= 0) return from.reset();
  into.append(piece.data(), static_cast<std::size_t>(n));
}

}  // namespace

ChildResult run_program(const ChildProgram& program) {
  Pipe out;
  Pipe err;
  ChildResult result;
  const pid_t child = ::fork();
  if (child < 0) return result;
  if (child == 0) become(program, out.write.get(), err.write.get());
  out.write.reset();
  err.write.reset();
  const auto end = Clock::now() + program.longest;
  while (out.read || err.read) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    std::array<pollfd, 2> ready{{{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}}};
    if (left.count() <= 0 ||
        ::poll(ready.data(), ready.size(), static_cast<int>(left.count())) == 0) {
      ::kill(child, SIGKILL);
      break;
    }
    if (ready[0].revents != 0) take(out.read, result.out);
    if (ready[1].revents != 0) take(err.read, result.err);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.code = Clock::now() < end ? 128 + WTERMSIG(status) : -1;
  return result;
}

}  // namespace warder
