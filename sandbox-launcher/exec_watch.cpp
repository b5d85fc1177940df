#include "sandbox-launcher/exec_watch.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <vector>

#include "sandbox-launcher/exec_memory.hpp"

namespace warder {
namespace {

// Numbers of epoll events: a process by its id, and these, which no process has.
constexpr std::uint64_t kListener = std::uint64_t{1} << 33;
constexpr std::uint64_t kOut = kListener + 1;

// Linux 6.13 and 6.15; the headers of Debian 12 are older.
struct PidfdInfo {
  std::uint64_t mask = 0;
  std::uint64_t cgroup = 0;
  std::array<std::uint32_t, 11> ids{};
  std::int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long kPidfdGetInfo = _IOWR(0xFF, 11, PidfdInfo);
constexpr std::uint64_t kPidfdInfoExit = 1U << 3;
// Linux 6.6: the one who waits and the one who answers take turns on one processor.
constexpr unsigned long kNotifySetFlags = SECCOMP_IOW(4, std::uint64_t);
constexpr std::uint64_t kSyncWakeUp = 1;

int load_filter(unsigned flags) {
  constexpr std::uint32_t kNumber = offsetof(seccomp_data, nr);
  std::array<sock_filter, 5> code{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 1, 0),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog program{code.size(), code.data()};
  return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

void set_events(int epoll, int fd, std::uint64_t number, std::uint32_t what, int operation) {
  epoll_event event{};
  event.events = what;
  event.data.u64 = number;
  (void)::epoll_ctl(epoll, operation, fd, &event);
}

void split(int status, std::int32_t& code, std::uint32_t& number) {
  number = WIFSIGNALED(status) ? static_cast<std::uint32_t>(WTERMSIG(status)) : 0;
  code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// It is there for waitpid(), or not at all.
bool is_over(pid_t process) {
  const Fd file(
      ::open(("/proc/" + std::to_string(process) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  const ssize_t n = file ? ::read(file.get(), text.data(), text.size()) : 0;
  if (n <= 0) return true;
  const std::string_view stat(text.data(), static_cast<std::size_t>(n));
  const std::size_t name = stat.rfind(") ");
  return name == std::string_view::npos || stat.substr(name + 2, 1) == "Z";
}

}  // namespace

// The filter that refuses things is on already, and kills what calls by another architecture's numbers.
Fd watch_executions() {
  const int fd =
      load_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
  // Before Linux 5.19 a signal that comes while it waits makes it ask twice.
  Fd listener(fd < 0 && errno == EINVAL ? load_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER) : fd);
  if (listener) (void)::ioctl(listener.get(), kNotifySetFlags, kSyncWakeUp);
  return listener;
}

ExecWatch::ExecWatch(Fd listener, int out, int events)
    : listener_(std::move(listener)), out_(out), events_(events) {
  set_events(events_, listener_.get(), kListener, 0, EPOLL_CTL_ADD);
  set_events(events_, out_, kOut, 0, EPOLL_CTL_ADD);
  listen(true);
}

void ExecWatch::close_in_child() {
  listener_.reset();
  ::close(out_);
}

void ExecWatch::listen(bool on) {
  if (on == listening_) return;
  listening_ = on;
  set_events(events_, listener_.get(), kListener, on ? EPOLLIN : 0U, EPOLL_CTL_MOD);
}

void ExecWatch::handle(std::uint64_t number, std::uint32_t what) {
  if (number == kListener) {
    if (!held_) take();
  } else if (number == kOut) {
    flush();
  } else {
    look_at(static_cast<pid_t>(number), what);
  }
}

void ExecWatch::take() {
  seccomp_notif asked{};
  // One that was killed before it was heard, did nothing.
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) return;
  ExecCall call;
  call.thread = static_cast<pid_t>(asked.pid);
  const bool at = asked.data.nr == SYS_execveat;
  call.directory = at ? static_cast<int>(asked.data.args[0]) : AT_FDCWD;
  call.path = asked.data.args[at ? 1 : 0];
  call.argv = asked.data.args[at ? 2 : 1];
  call.of_descriptor = at && (asked.data.args[4] & AT_EMPTY_PATH) != 0;
  ExecBegun begun = read_exec(call);
  // Else what was read may be of another process that has its number now.
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &asked.id) != 0) return;
  if (const int error = certainly_missing(begun, call)) {
    ++missing_;
    answer(asked.id, error);
    return;
  }
  begun.exec = ++execs_;
  follow(begun);
  held_ = asked.id;
  tell(begun);
}

void ExecWatch::answer(std::uint64_t id, int error) {
  seccomp_notif_resp said{};
  said.id = id;
  if (error != 0)
    said.error = -error;
  else
    said.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  // It may have been killed by now.
  (void)::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &said);
}

void ExecWatch::follow(const ExecBegun& begun) {
  const auto process = static_cast<pid_t>(begun.pid);
  Process& known = processes_[process];
  known.exec = begun.exec;
  if (known.handle) return;
  known.handle = Fd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (!known.handle) {
    processes_.erase(process);  // its end will not be told
    return;
  }
  set_events(events_, known.handle.get(), begun.pid, EPOLLIN | EPOLLET, EPOLL_CTL_ADD);
}

// A process that has ended is told of once it has been waited for: only then has the kernel its exit code for others.
void ExecWatch::look_at(pid_t process, std::uint32_t what) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  PidfdInfo info;
  info.mask = kPidfdInfoExit;
  const bool knows = ::ioctl(found->second.handle.get(), kPidfdGetInfo, &info) == 0;
  if (knows && (info.mask & kPidfdInfoExit) != 0)
    ended(process, info.exit_code);
  else if ((what & EPOLLHUP) != 0 || (!knows && is_over(process)))
    ended(process, std::nullopt);
}

void ExecWatch::reaped(pid_t process, int status) { ended(process, status); }

void ExecWatch::ended(pid_t process, std::optional<int> status) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  ExecEnded end;
  end.exec = found->second.exec;
  end.pid = static_cast<std::uint32_t>(process);
  if (status) split(*status, end.exit_code, end.signal);
  processes_.erase(found);
  tell(end);
}

void ExecWatch::tell(const ExecReport& report) {
  packets_.push_back(encode(report));
  flush();
}

void ExecWatch::flush() {
  while (!packets_.empty() && !gone_) {
    const std::string& packet = packets_.front();
    const ssize_t n = ::send(out_, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) gone_ = true;
    packets_.pop_front();
  }
  if (gone_) packets_.clear();
  const bool waits = !packets_.empty();
  if (waits != writing_) {
    writing_ = waits;
    set_events(events_, out_, kOut, waits ? EPOLLOUT : 0U, EPOLL_CTL_MOD);
  }
  // Nobody runs what nobody is told of.
  if (!waits && held_) {
    answer(*held_, gone_ ? EPERM : 0);
    held_.reset();
  }
  listen(!waits);
}

void ExecWatch::finish(pid_t command, int status, int limit_ms) {
  ended(command, status);
  // Those that ended before it, and that epoll has not told of yet.
  std::vector<pid_t> others;
  for (const auto& [process, known] : processes_) others.push_back(process);
  for (const pid_t process : others) look_at(process, 0);
  ExecsDone done;
  done.execs = execs_;
  done.missing = missing_;
  split(status, done.exit_code, done.signal);
  tell(done);
  while (!packets_.empty()) {
    pollfd room{out_, POLLOUT, 0};
    if (::poll(&room, 1, limit_ms) <= 0) return;
    flush();
  }
}

}  // namespace warder
