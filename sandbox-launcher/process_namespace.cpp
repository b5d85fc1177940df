#include "sandbox-launcher/process_namespace.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/fd.hpp"
#include "sandbox-launcher/launch_error.hpp"

namespace warder {
namespace {

constexpr const char* kPidNamespaceRemedy =
    "Warder needs process namespaces: sysctl user.max_pid_namespaces=10000; inside a container: "
    "its seccomp profile must allow unshare(CLONE_NEWPID)";

// A parent that died before the signal was asked for sends none.
bool is_there(const Fd& parent) {
  pollfd gone{parent.get(), POLLIN, 0};
  return ::poll(&gone, 1, 0) == 0;
}

// The terminal's Ctrl-C is the child's to die of, or not.
[[noreturn]] void follow(pid_t child) {
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFSIGNALED(status)) ::_exit(WEXITSTATUS(status));
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::signal(WTERMSIG(status), SIG_DFL);
  ::kill(::getpid(), WTERMSIG(status));
  ::_exit(128 + WTERMSIG(status));
}

}  // namespace

void die_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

void enter_process_namespace(int control, int status, int reports) {
  const Fd parent(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!parent) throw launch_error("open its own process", "Warder needs Linux 5.12");
  if (::unshare(CLONE_NEWPID) != 0)
    throw launch_error("make a process namespace", kPidNamespaceRemedy);
  const pid_t child = ::fork();
  if (child < 0) throw launch_error("start the first process of a namespace");
  if (child > 0) {
    ::close(control);
    ::close(status);
    ::close(reports);
    follow(child);
  }
  die_with_parent();
  if (!is_there(parent)) ::_exit(125);
  (void)!::write(status, kFirstLine, std::strlen(kFirstLine));
}

}  // namespace warder
