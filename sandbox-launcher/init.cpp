#include "sandbox-launcher/init.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include "sandbox-launcher/exec_watch.hpp"
#include "sandbox-launcher/landlock.hpp"

namespace warder {
namespace {

// Threads included. Since Linux 5.14 counted for this sandbox alone.
constexpr rlim_t kMostProcesses = 8'192;
constexpr int kLastWordsMs = 5'000;
constexpr std::uint64_t kSignals = ExecWatch::kOthers;

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
  // Else it could signal the host's processes that `warder` shares a group with. Where there is a terminal that CMD is
  // not given, it stays in that group, and the filter refuses to signal it.
  const Fd terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (foreground == Foreground::yes || !terminal) ::setpgid(0, 0);
  if (foreground == Foreground::yes) {
    ::tcsetpgrp(STDIN_FILENO, ::getpid());  // every signal is blocked here, SIGTTOU too
  }
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU}) {
    std::signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // What the first process reads of it before it is CMD: it was a copy of one that nobody may read.
  ::prctl(PR_SET_DUMPABLE, 1);
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
  Init(pid_t command, Foreground foreground, int status, ExecWatch& execs)
      : command_(command), foreground_(foreground), status_(status), execs_(execs) {}

  // Takes every child that has ended. How CMD did, once it is among them.
  std::optional<int> reap() {
    std::optional<int> end;
    for (;;) {
      int status = 0;
      const pid_t changed = ::waitpid(-1, &status, WNOHANG | WUNTRACED);
      if (changed <= 0) return end;
      if (changed != command_) {
        if (!WIFSTOPPED(status)) execs_.reaped(changed, status);
        continue;
      }
      if (!WIFSTOPPED(status))
        end = status;
      else if (foreground_ == Foreground::yes)
        stop_all();
    }
  }

  void pass_on(const signalfd_siginfo& what) {
    const int number = static_cast<int>(what.ssi_signo);
    if (number == SIGCONT && foreground_ == Foreground::yes) {
      // Only from outside. The filter lets nobody inside say so with a sender of his choice.
      if (what.ssi_pid != 0) return;
      if (what.ssi_code == SI_QUEUE && what.ssi_int == static_cast<int>(Continued::in_foreground)) {
        ::tcsetpgrp(STDIN_FILENO, command_);
      }
      ::kill(-1, SIGCONT);
      return;
    }
    // The terminal's own signals reach CMD by themselves, as a member of its process group.
    if (what.ssi_code != SI_KERNEL) ::kill(command_, number);
  }

 private:
  // `warder` stops next, and with it the gateway and whoever looks at the limits: nothing goes on without them.
  void stop_all() const {
    ::kill(-1, SIGSTOP);
    (void)!::write(status_, kStoppedLine, std::strlen(kStoppedLine));
  }

  const pid_t command_;
  const Foreground foreground_;
  const int status_;
  ExecWatch& execs_;
};

// A handle for each process; CMD was started with the limit as it was.
void allow_many_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

int refuse(const char* step, const char* remedy = "") {
  std::fprintf(stderr, "warder: cannot %s: %s%s\n", step, std::strerror(errno), remedy);
  return 126;
}

// Until CMD has ended: its status.
int serve(Init& init, ExecWatch& execs, int events, int signals) {
  for (;;) {
    std::array<epoll_event, 64> happened{};
    const int count = ::epoll_wait(events, happened.data(), happened.size(), -1);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = happened[static_cast<std::size_t>(i)];
      if (event.data.u64 == kSignals) {
        signalfd_siginfo what{};
        while (::read(signals, &what, sizeof what) == static_cast<ssize_t>(sizeof what)) {
          if (what.ssi_signo != SIGCHLD) init.pass_on(what);
        }
      }
      // Before anything is told of a process: of a child there is more to tell.
      if (const auto end = init.reap()) return *end;
      if (event.data.u64 != kSignals) execs.handle(event.data.u64, event.events);
    }
  }
}

}  // namespace

int run_init(char** argv, Foreground foreground, int status, int reports,
             const InsideBounds& bounds) {
  ::fcntl(status, F_SETFD, FD_CLOEXEC);
  ::fcntl(reports, F_SETFD, FD_CLOEXEC);
  // CMD has our uid. It must not trace us or take our descriptors: what comes out of that socket, Warder acts on outside.
  if (::prctl(PR_SET_DUMPABLE, 0) != 0)
    return refuse("close the sandbox's first process to others");
  sigset_t all;
  sigfillset(&all);
  // Blocked signals wait for the loop; for the first process of a namespace unblocked ones would be dropped.
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  const Fd signals(::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  const Fd events(::epoll_create1(EPOLL_CLOEXEC));
  Fd listener = watch_executions();
  if (!listener) return refuse("watch what is executed", ". This needs Linux 5.5 with seccomp");
  if (!signals || !events) return refuse("make the loop of the sandbox's first process");
  epoll_event about_signals{};
  about_signals.events = EPOLLIN;
  about_signals.data.u64 = kSignals;
  ::epoll_ctl(events.get(), EPOLL_CTL_ADD, signals.get(), &about_signals);
  ExecWatch execs(std::move(listener), reports, events.get());
  (void)!::write(status, kInitLine, std::strlen(kInitLine));
  const pid_t command = ::fork();
  if (command < 0) return refuse("start a process in the sandbox");
  if (command == 0) {
    execs.close_in_child();
    execute(argv, foreground, bounds);
  }
  allow_many_files();
  Init init(command, foreground, status, execs);
  const int end = serve(init, execs, events.get(), signals.get());
  execs.finish(command, end, kLastWordsMs);
  return code_of(end);
}

}  // namespace warder
