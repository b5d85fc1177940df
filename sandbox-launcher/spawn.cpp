#include "sandbox-launcher/spawn.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "sandbox-launcher/channel.hpp"
#include "sandbox-launcher/init.hpp"
#include "sandbox-launcher/plan.hpp"
#include "sandbox-launcher/terminal.hpp"

namespace warder {
namespace {

constexpr std::chrono::seconds kGrace{5};  // between a forwarded SIGTERM and the end of everything

LaunchFailure failure(std::string message, int code = 125) {
  return {std::move(message) + "; nothing was run", code};
}

LaunchFailure parse_failure(const std::string& text) {
  // "failed 125 cannot …"
  const std::size_t space = text.find(' ', 7);
  if (!text.starts_with("failed ") || space == std::string::npos)
    return failure("warder-sandbox said something odd");
  return failure(text.substr(space + 1), std::atoi(text.c_str() + 7));
}

// Between fork and exec: only what is safe there.
[[noreturn]] void become_launcher(const char* launcher, int control, int status, int reports) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Whatever else is open here is none of the sandbox's business.
  constexpr int kControl = 3;
  constexpr int kStatus = 4;
  constexpr int kReports = 5;
  const int moved_control = ::fcntl(control, F_DUPFD, 10);
  const int moved_status = ::fcntl(status, F_DUPFD, 10);
  const int moved_reports = ::fcntl(reports, F_DUPFD, 10);
  ::dup2(moved_control, kControl);
  ::dup2(moved_status, kStatus);
  ::dup2(moved_reports, kReports);
  ::close_range(6, ~0U, 0);
  char control_flag[] = "--control";
  char control_number[] = "3";
  char status_number[] = "4";
  char reports_number[] = "5";
  char* const argv[] = {const_cast<char*>(launcher),
                        control_flag,
                        control_number,
                        status_number,
                        reports_number,
                        nullptr};
  char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  char* const env[] = {path, nullptr};
  ::execve(launcher, argv, env);
  ::_exit(127);
}

// The number after the first `key` in bubblewrap's status lines, such as { "exit-code": 7 }. What stands later does not
// count: bubblewrap says each thing once, and the first one before anything of the sandbox runs.
int number_after(const std::string& text, const char* key, int otherwise) {
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return otherwise;
  const std::size_t colon = text.find(':', at);
  return colon == std::string::npos ? otherwise : std::atoi(text.c_str() + colon + 1);
}

void take_status(Fd& pipe, std::string& into) {
  std::array<char, 512> piece{};
  for (;;) {
    const ssize_t n = ::read(pipe.get(), piece.data(), piece.size());
    if (n == 0) pipe.reset();  // at its end it would be ready for ever
    if (n <= 0) return;
    into.append(piece.data(), static_cast<std::size_t>(n));
  }
}

bool take_line(std::string& said, const std::string& line) {
  const std::size_t at = said.find(line);
  if (at == std::string::npos) return false;
  said.erase(at, line.size());
  return true;
}

// CMD has stopped (Ctrl-Z): so do we, and the shell sees its job stop. Afterwards CMD goes on as we do.
void stop_with(BorrowedTerminal& terminal, int inside) {
  terminal.take_back();
  ::kill(::getpid(), SIGSTOP);
  sigval how{};
  how.sival_int = static_cast<int>(terminal.in_foreground() ? Continued::in_foreground
                                                            : Continued::in_background);
  if (inside > 0) ::sigqueue(inside, SIGCONT, how);
}

// Where bubblewrap was killed, what it held dies a moment later; the first process inside is the last one to go.
void wait_for_last(const Fd& first_inside) {
  if (!first_inside) return;
  pollfd gone{first_inside.get(), POLLIN, 0};
  ::poll(&gone, 1, static_cast<int>(std::chrono::milliseconds(kGrace).count()));
}

sigset_t handled_signals() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&handled, number);
  return handled;
}

}  // namespace

void Sandbox::keep_signals_for_wait() {
  const sigset_t handled = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &handled, nullptr);
}

std::variant<Sandbox, LaunchFailure> Sandbox::start(const SandboxSpec& spec, const Caller& caller,
                                                    const std::filesystem::path& launcher) {
  std::array<int, 2> pair{};
  std::array<int, 2> reports{};
  std::array<int, 2> pipe{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0 ||
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reports.data()) != 0 ||
      ::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    return failure("cannot make a control socket: " + std::string(std::strerror(errno)));
  }
  Sandbox sandbox;
  sandbox.control_ = Fd(pair[0]);
  Fd theirs(pair[1]);
  sandbox.status_ = Fd(pipe[0]);
  Fd status_write(pipe[1]);
  sandbox.reports_ = Fd(reports[0]);
  Fd their_reports(reports[1]);
  ::fcntl(sandbox.status_.get(), F_SETFL, O_NONBLOCK);
  const std::string path = launcher.string();
  sandbox.pid_ = ::fork();
  if (sandbox.pid_ < 0)
    return failure("cannot start a process: " + std::string(std::strerror(errno)));
  if (sandbox.pid_ == 0) {
    become_launcher(path.c_str(), theirs.get(), status_write.get(), their_reports.get());
  }
  theirs.reset();
  status_write.reset();
  their_reports.reset();

  // In a pipeline the others of the job need the terminal as well (`warder run -- … | less`).
  const bool whole_job =
      BorrowedTerminal().in_foreground() && ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO);
  const LaunchPlan plan{spec, caller.home, caller.path, caller.sudo_uid,
                        whole_job ? Foreground::yes : Foreground::no};
  sandbox.foreground_ = plan.foreground;
  Message answer;
  if (!send_message(sandbox.control_.get(), to_json(plan)) ||
      !receive_message(sandbox.control_.get(), answer)) {
    return failure("cannot start " + path + ": is it installed beside warder?");
  }
  const std::string ready = "ready " + std::to_string(kLaunchProtocol) + " ";
  if (answer.text.starts_with("ready ") && !answer.text.starts_with(ready)) {
    return failure("warder and warder-sandbox are of different versions: install them together");
  }
  if (!answer.text.starts_with(ready) || (answer.fds.size() != 3 && answer.fds.size() != 6)) {
    return parse_failure(answer.text);
  }
  SandboxListeners& listeners = sandbox.listeners_;
  listeners.port = static_cast<std::uint16_t>(std::atoi(answer.text.c_str() + ready.size()));
  listeners.tcp4 = std::move(answer.fds[0]);
  listeners.dns_udp4 = std::move(answer.fds[1]);
  listeners.dns_tcp4 = std::move(answer.fds[2]);
  if (answer.fds.size() == 6) {
    listeners.tcp6 = std::move(answer.fds[3]);
    listeners.dns_udp6 = std::move(answer.fds[4]);
    listeners.dns_tcp6 = std::move(answer.fds[5]);
  }
  return sandbox;
}

Sandbox::Sandbox(Sandbox&& other) noexcept { *this = std::move(other); }

Sandbox& Sandbox::operator=(Sandbox&& other) noexcept {
  std::swap(pid_, other.pid_);
  foreground_ = other.foreground_;
  control_ = std::move(other.control_);
  status_ = std::move(other.status_);
  listeners_ = std::move(other.listeners_);
  reports_ = std::move(other.reports_);
  return *this;
}

Sandbox::~Sandbox() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::variant<std::monostate, LaunchFailure> Sandbox::go() {
  if (!send_message(control_.get(), "go")) return failure("the sandbox is gone");
  return std::monostate();
}

void Sandbox::forward(const signalfd_siginfo& what, int inside) {
  // What was sent to us alone. The terminal's own signals reach CMD by themselves, unless CMD is to have the terminal
  // and has not taken it yet: then they come here.
  if (what.ssi_signo == SIGCHLD) return;
  if (what.ssi_code == SI_KERNEL && foreground_ == Foreground::no) return;
  if (inside > 0) {
    ::kill(inside, static_cast<int>(what.ssi_signo));
  } else {
    ended_early_by_ = static_cast<int>(what.ssi_signo);
    ::kill(pid_, SIGKILL);
  }
  if (what.ssi_signo == SIGTERM || what.ssi_signo == SIGHUP) {
    kill_at_ = std::min(kill_at_, std::chrono::steady_clock::now() + kGrace);
  }
}

int Sandbox::wait() {
  BorrowedTerminal terminal;
  const sigset_t handled = handled_signals();
  const Fd signals(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  std::string said;
  Fd first_inside;
  for (;;) {
    std::array<pollfd, 2> ready{{{signals.get(), POLLIN, 0}, {status_.get(), POLLIN, 0}}};
    const bool deadline = kill_at_ != std::chrono::steady_clock::time_point::max();
    ::poll(ready.data(), ready.size(), deadline ? 100 : -1);
    take_status(status_, said);
    const int inside = number_after(said, "\"child-pid\"", -1);
    if (inside > 0 && !first_inside)
      first_inside = Fd(static_cast<int>(::syscall(SYS_pidfd_open, inside, 0)));
    if (std::chrono::steady_clock::now() >= kill_at_) ::kill(pid_, SIGKILL);
    signalfd_siginfo what{};
    if (::read(signals.get(), &what, sizeof what) == static_cast<ssize_t>(sizeof what))
      forward(what, inside);
    if (take_line(said, kStoppedLine)) stop_with(terminal, inside);
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) continue;
    pid_ = -1;
    take_status(status_, said);
    wait_for_last(first_inside);
    // bubblewrap says an exit code only when CMD had begun; without it the sandbox itself failed, or was killed.
    if (ended_early_by_ != 0) return 128 + ended_early_by_;
    const int otherwise = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : 125;
    return number_after(said, "\"exit-code\"", otherwise);
  }
}

}  // namespace warder
