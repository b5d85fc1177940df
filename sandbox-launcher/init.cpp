#include "sandbox-launcher/init.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include "sandbox-launcher/landlock.hpp"

namespace warder {
namespace {

// Threads included. Since Linux 5.14 counted for this sandbox alone.
constexpr rlim_t kMostProcesses = 8'192;

// For good: both the soft and the hard one.
bool lower(__rlimit_resource_t resource, rlim_t most) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return false;
  limit.rlim_max = std::min(limit.rlim_max, most);
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  return ::setrlimit(resource, &limit) == 0;
}

bool lower_if(__rlimit_resource_t resource, const std::optional<std::uint64_t>& most) {
  return !most || lower(resource, *most);
}

bool keep_within(const InsideBounds& bounds) {
  const rlim_t processes = bounds.processes.value_or(kMostProcesses);
  return lower(RLIMIT_NPROC, std::min(processes, kMostProcesses)) && lower(RLIMIT_CORE, 0) &&
         lower_if(RLIMIT_FSIZE, bounds.file_size) && lower_if(RLIMIT_NOFILE, bounds.open_files) &&
         lower_if(RLIMIT_DATA, bounds.data);
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

[[noreturn]] void execute(char** argv, Foreground foreground, const InsideBounds& bounds) {
  if (foreground == Foreground::yes) {
    ::setpgid(0, 0);
    ::tcsetpgrp(STDIN_FILENO, ::getpid());  // every signal is blocked here, SIGTTOU too
  }
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU}) {
    std::signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (!keep_within(bounds) || !confine_to_view()) {
    std::fprintf(stderr, "warder: cannot confine the command: %s\n", std::strerror(errno));
    ::_exit(126);
  }
  ::execvp(argv[0], argv);
  const int code = errno == ENOENT || errno == ENOTDIR ? 127 : 126;
  std::fprintf(stderr, "warder: %s: %s\n", argv[0],
               errno == ENOENT ? "command not found in the sandbox" : std::strerror(errno));
  ::_exit(code);
}

class Init {
 public:
  Init(pid_t command, Foreground foreground, int status)
      : command_(command), foreground_(foreground), status_(status) {}

  // Takes every child that has ended. CMD's code once it is among them.
  std::optional<int> reap() {
    std::optional<int> code;
    for (;;) {
      int status = 0;
      const pid_t changed = ::waitpid(-1, &status, WNOHANG | WUNTRACED);
      if (changed <= 0) return code;
      if (changed != command_) continue;
      if (!WIFSTOPPED(status))
        code = code_of(status);
      else if (foreground_ == Foreground::yes)
        (void)!::write(status_, kStoppedLine, std::strlen(kStoppedLine));
    }
  }

  void pass_on(int number, const siginfo_t& what) {
    if (number == SIGCONT && foreground_ == Foreground::yes) {
      if (what.si_code == SI_QUEUE &&
          what.si_value.sival_int == static_cast<int>(Continued::in_foreground)) {
        ::tcsetpgrp(STDIN_FILENO, command_);
      }
      ::kill(-command_, SIGCONT);
      return;
    }
    // The terminal's own signals reach CMD by themselves, as a member of its process group.
    if (what.si_code != SI_KERNEL) ::kill(command_, number);
  }

 private:
  const pid_t command_;
  const Foreground foreground_;
  const int status_;
};

}  // namespace

int run_init(char** argv, Foreground foreground, int status, const InsideBounds& bounds) {
  ::fcntl(status, F_SETFD, FD_CLOEXEC);
  // CMD has our uid. It must not trace us or take our descriptors: what comes out of that socket, Warder acts on outside.
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) {
    std::fprintf(stderr, "warder: cannot close the sandbox's first process to others: %s\n",
                 std::strerror(errno));
    return 126;
  }
  sigset_t all;
  sigfillset(&all);
  // Blocked signals wait for sigwaitinfo(); for the first process of a namespace unblocked ones would be dropped.
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  (void)!::write(status, kInitLine, std::strlen(kInitLine));
  const pid_t command = ::fork();
  if (command < 0) {
    std::fprintf(stderr, "warder: cannot start a process in the sandbox: %s\n",
                 std::strerror(errno));
    return 126;
  }
  if (command == 0) execute(argv, foreground, bounds);
  Init init(command, foreground, status);
  for (;;) {
    siginfo_t what{};
    const int number = ::sigwaitinfo(&all, &what);
    if (number == SIGCHLD) {
      if (const auto code = init.reap()) return *code;
    } else if (number > 0) {
      init.pass_on(number, what);
    }
  }
}

}  // namespace warder
