#include "secrets/helper_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "base/fd.hpp"

namespace warder {
namespace {

using Time = std::chrono::steady_clock::time_point;
constexpr std::chrono::milliseconds kSlice{50};  // between two looks at `stop`
constexpr std::size_t kMostInput = 4096;         // fits a pipe: writing never waits

std::string words_of(int error) { return std::generic_category().message(error); }

struct Pipe {
  Fd ours;
  Fd theirs;
};

int make_pipe(Pipe& pipe, bool we_read) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
  pipe.ours = Fd(ends[we_read ? 0 : 1]);
  pipe.theirs = Fd(ends[we_read ? 1 : 0]);
  // Theirs must not block less than they expect: only our end is non-blocking.
  ::fcntl(pipe.ours.get(), F_SETFL, O_NONBLOCK);
  return 0;
}

// posix_spawn's two objects, which want to be destroyed.
class Spawning {
 public:
  Spawning() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  Spawning(const Spawning&) = delete;
  ~Spawning() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  int start(const HelperCall& call, const std::array<int, 3>& standard, pid_t& pid) {
    for (int fd = 0; fd < 3; ++fd) {
      ::posix_spawn_file_actions_adddup2(&actions_, standard[static_cast<std::size_t>(fd)], fd);
    }
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
    // Not where we are: that is the workspace, where a sandbox may have put what an interpreter would load.
    ::posix_spawn_file_actions_addchdir_np(&actions_, "/");
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    // A session is a process group too, and has no terminal to ask on.
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    std::vector<char*> argv;
    for (const std::string& argument : call.argv)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    std::vector<char*> env;
    for (const WipedBytes& variable : call.variables) {
      env.push_back(const_cast<char*>(variable.data()));
    }
    env.push_back(nullptr);
    return ::posix_spawn(&pid, call.program.c_str(), &actions_, &attributes_, argv.data(),
                         env.data());
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// What comes from one of its pipes.
struct Stream {
  Fd fd;
  WipedBytes bytes;  // as large as may come
  std::size_t filled = 0;
  bool overflowed = false;

  // Reads what is there; closes at the end.
  void take() {
    std::array<char, 4096> piece{};
    ssize_t n = 0;
    while ((n = ::read(fd.get(), piece.data(), piece.size())) > 0) {
      const auto got = static_cast<std::size_t>(n);
      const std::size_t fits = std::min(got, bytes.size() - filled);
      std::copy_n(piece.data(), fits, bytes.data() + filled);
      filled += fits;
      overflowed |= fits < got;
    }
    const bool later = n < 0 && (errno == EAGAIN || errno == EINTR);
    wipe(piece.data(), piece.size());
    if (!later) fd.reset();
  }
};

class Running {
 public:
  Running(pid_t pid, Time end) : pid_(pid), end_(end) {}
  Running(const Running&) = delete;
  ~Running() {
    if (pid_ > 0) kill_and_wait();
  }

  // Until both streams have ended. Empty, or why it was given up.
  std::string read(Stream& out, Stream& err, const std::stop_token& stop) {
    while (out.fd || err.fd) {
      if (std::string why = gives_up(stop); !why.empty()) return why;
      std::array<pollfd, 2> waiting{{{out.fd.get(), POLLIN, 0}, {err.fd.get(), POLLIN, 0}}};
      if (::poll(waiting.data(), waiting.size(), static_cast<int>(slice().count())) < 0) continue;
      if (waiting[0].revents != 0) out.take();
      if (waiting[1].revents != 0) err.take();
      if (out.overflowed) return "wrote more than a value's 16384 bytes";
    }
    return {};
  }

  // How it ended: empty for exit code 0.
  std::string wait(const std::stop_token& stop) {
    siginfo_t seen{};
    do {
      if (std::string why = gives_up(stop); !why.empty()) return why;
      if (::waitid(P_PID, static_cast<id_t>(pid_), &seen, WEXITED | WNOHANG | WNOWAIT) != 0)
        return "could not be waited for: " + words_of(errno);
      if (seen.si_pid == 0) ::poll(nullptr, 0, 5);
    } while (seen.si_pid == 0);
    const int status = kill_and_wait();
    if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
    const int code = WEXITSTATUS(status);
    return code == 0 ? std::string() : "ended with exit code " + std::to_string(code);
  }

 private:
  std::string gives_up(const std::stop_token& stop) {
    if (stop.stop_requested()) return "was ended with the gateway";
    if (std::chrono::steady_clock::now() < end_) return {};
    return "did not end in time";
  }
  std::chrono::milliseconds slice() const {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now());
    return std::clamp(left, std::chrono::milliseconds(0), kSlice);
  }
  // The group first: once the program has been waited for, its number may be another's.
  int kill_and_wait() {
    ::kill(-pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

  pid_t pid_;
  const Time end_;
};

}  // namespace

HelperResult run_helper(const HelperCall& call, const std::stop_token& stop) {
  HelperResult result;
  Pipe in;
  Pipe out;
  Pipe err;
  int error = call.input.size() > kMostInput ? E2BIG : make_pipe(in, false);
  if (error == 0) error = make_pipe(out, true);
  if (error == 0) error = make_pipe(err, true);
  pid_t pid = -1;
  if (error == 0) {
    // Before it runs, while we hold the other end too: there is room, and nobody who could have closed it.
    (void)!::write(in.ours.get(), call.input.data(), call.input.size());
    in.ours.reset();
    const std::array<int, 3> standard{in.theirs.get(), out.theirs.get(), err.theirs.get()};
    error = Spawning().start(call, standard, pid);
  }
  if (error != 0) {
    result.problem = "cannot be started: " + words_of(error);
    return result;
  }
  Running running(pid, std::chrono::steady_clock::now() + call.timeout);
  for (Pipe* pipe : {&in, &out, &err}) pipe->theirs.reset();
  Stream output{std::move(out.ours), WipedBytes(call.most)};
  Stream errors{std::move(err.ours), WipedBytes(kMostHelperErrors)};
  result.problem = running.read(output, errors, stop);
  if (result.problem.empty()) result.problem = running.wait(stop);
  output.bytes.resize(output.filled);
  errors.bytes.resize(errors.filled);
  result.output = std::move(output.bytes);
  result.errors = std::move(errors.bytes);
  return result;
}

}  // namespace warder
