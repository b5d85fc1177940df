#include "sandbox-launcher/spawn.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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
constexpr int kTimeIsUp = 124;             // as timeout(1)
constexpr std::chrono::seconds kLastWait{2};  // for the kernel to end it

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
[[noreturn]] void become_launcher(const char* launcher, int control, int status, int reports,
                                  int out, int err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (out >= 0) ::dup2(out, STDOUT_FILENO);
  if (err >= 0) ::dup2(err, STDERR_FILENO);
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

// CMD has stopped (Ctrl-Z): so do we, and the shell sees its job stop. Afterwards CMD goes on as we do.
void stop_with(BorrowedTerminal& terminal, Status& status) {
  terminal.take_back();
  ::kill(::getpid(), SIGSTOP);
  // Whatever it stopped for meanwhile, one `fg` continues it.
  status.take();
  (void)status.take_stopped();
  const pid_t inside = status.init();
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
  Sandbox sandbox;
  auto watch = BoundsWatch::make(spec.bounds, spec.name);
  if (const auto* why = std::get_if<std::string>(&watch)) return failure(*why, 2);
  sandbox.watch_ = std::move(std::get<BoundsWatch>(watch));
  if (const auto most = sandbox.watch_.output(); most && !sandbox.output_.open(*most))
    return failure("cannot make a pipe: " + std::string(std::strerror(errno)));
  std::array<int, 2> pair{};
  std::array<int, 2> reports{};
  Fd status_write;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0 ||
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reports.data()) != 0 ||
      !sandbox.status_.open(status_write)) {
    return failure("cannot make a control socket: " + std::string(std::strerror(errno)));
  }
  sandbox.control_ = Fd(pair[0]);
  Fd theirs(pair[1]);
  sandbox.reports_ = Fd(reports[0]);
  Fd their_reports(reports[1]);
  const std::string path = launcher.string();
  sandbox.pid_ = ::fork();
  if (sandbox.pid_ < 0)
    return failure("cannot start a process: " + std::string(std::strerror(errno)));
  if (sandbox.pid_ == 0)
    become_launcher(path.c_str(), theirs.get(), status_write.get(), their_reports.get(),
                    sandbox.output_.theirs_out(), sandbox.output_.theirs_err());
  theirs.reset();
  status_write.reset();
  their_reports.reset();

  // In a pipeline the others of the job need the terminal as well (`warder run -- … | less`).
  const bool whole_job =
      BorrowedTerminal().in_foreground() && ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO);
  const LaunchPlan plan{spec,
                        caller.home,
                        caller.path,
                        caller.sudo_uid,
                        whole_job ? Foreground::yes : Foreground::no,
                        sandbox.watch_.inside()};
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
  // It said so before it was ready.
  sandbox.status_.take();
  sandbox.first_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, sandbox.status_.first(), 0)));
  if (!sandbox.first_)
    return failure("cannot open the sandbox's process: " + std::string(std::strerror(errno)));
  if (!sandbox.watch_.enter(sandbox.status_.first()))
    return failure("cannot enter its control group: " + std::string(std::strerror(errno)));
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
  first_ = std::move(other.first_);
  control_ = std::move(other.control_);
  status_ = std::move(other.status_);
  watch_ = std::move(other.watch_);
  output_ = std::move(other.output_);
  listeners_ = std::move(other.listeners_);
  reports_ = std::move(other.reports_);
  return *this;
}

// With its first process the whole namespace ends, and then warder-sandbox by itself: nothing is alive once it is reaped.
void Sandbox::end_now() const {
  if (!first_ || ::syscall(SYS_pidfd_send_signal, first_.get(), SIGKILL, nullptr, 0) != 0)
    ::kill(pid_, SIGKILL);
}

Sandbox::~Sandbox() {
  if (pid_ <= 0) return;
  end_now();
  const auto deadline = std::chrono::steady_clock::now() + kLastWait;
  for (;;) {
    const pid_t ended = ::waitpid(pid_, nullptr, WNOHANG);
    if (ended == pid_ || (ended < 0 && errno != EINTR)) return;
    if (std::chrono::steady_clock::now() >= deadline) ::kill(pid_, SIGKILL);
    ::usleep(1'000);
  }
}

std::variant<std::monostate, LaunchFailure> Sandbox::go() {
  if (!send_message(control_.get(), "go")) return failure("the sandbox is gone");
  output_.start();
  watch_.begin();
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
    end_now();
  }
  if (what.ssi_signo == SIGTERM || what.ssi_signo == SIGHUP) {
    kill_at_ = std::min(kill_at_, std::chrono::steady_clock::now() + kGrace);
  }
}

void Sandbox::look_at_bounds() {
  output_.take_wake();
  if (output_.is_over() && !watch_.ended()) {
    watch_.ended_by(Bound::output, output_.bytes());
    end_now();
  }
  const auto passed = watch_.look(status_.init());
  if (!passed) return;
  if (*passed != Bound::time || status_.init() <= 0) return end_now();
  ::kill(status_.init(), SIGTERM);
  kill_at_ = std::min(kill_at_, std::chrono::steady_clock::now() + kGrace);
}

// For poll(): until something is due without anybody's word. -1: nothing is.
int Sandbox::patience() const {
  constexpr auto kNever = std::chrono::steady_clock::time_point::max();
  const int dying = kill_at_ == kNever ? -1 : 100;
  if (watch_.next() == kNever) return dying;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(watch_.next() -
                                                                 std::chrono::steady_clock::now());
  const int due = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
  return dying < 0 ? due : std::min(dying, due);
}

// What CMD has written goes on to whoever reads it, as long as that takes, unless this process is to end.
void Sandbox::drain_output(int signals) const {
  const auto give_up = std::chrono::steady_clock::now() + kLastWait;
  while (!output_.is_drained()) {
    if (watch_.ended() && std::chrono::steady_clock::now() >= give_up) return;
    std::array<pollfd, 2> ready{{{output_.wake(), POLLIN, 0}, {signals, POLLIN, 0}}};
    ::poll(ready.data(), ready.size(), 100);
    output_.take_wake();
    signalfd_siginfo what{};
    if (::read(signals, &what, sizeof what) == static_cast<ssize_t>(sizeof what) &&
        what.ssi_signo != SIGCHLD)
      return;
  }
}

int Sandbox::wait() {
  BorrowedTerminal terminal;
  const sigset_t handled = handled_signals();
  const Fd signals(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  Fd first_inside;
  for (;;) {
    std::array<pollfd, 3> ready{
        {{signals.get(), POLLIN, 0}, {status_.fd(), POLLIN, 0}, {output_.wake(), POLLIN, 0}}};
    const bool deadline = kill_at_ != std::chrono::steady_clock::time_point::max();
    ::poll(ready.data(), ready.size(), patience());
    status_.take();
    if (status_.init() > 0 && !first_inside)
      first_inside = Fd(static_cast<int>(::syscall(SYS_pidfd_open, status_.init(), 0)));
    const auto now = std::chrono::steady_clock::now();
    if (now >= kill_at_) end_now();
    if (deadline && now >= kill_at_ + kLastWait) ::kill(pid_, SIGKILL);
    look_at_bounds();
    signalfd_siginfo what{};
    if (::read(signals.get(), &what, sizeof what) == static_cast<ssize_t>(sizeof what))
      forward(what, status_.init());
    if (status_.take_stopped()) stop_with(terminal, status_);
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) continue;
    pid_ = -1;
    status_.take();
    wait_for_last(first_inside);
    drain_output(signals.get());
    watch_.finish();
    if (const auto passed = watch_.ended())
      return *passed == Bound::time ? kTimeIsUp : 128 + SIGKILL;
    // bubblewrap says an exit code only when CMD had begun; without it the sandbox itself failed, or was killed.
    if (ended_early_by_ != 0) return 128 + ended_early_by_;
    return status_.exit_code(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : 125);
  }
}

}  // namespace warder
