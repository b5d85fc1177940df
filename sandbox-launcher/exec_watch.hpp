// Every execve() of a sandbox waits until the first process has told `warder` of it; and how each of those processes ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/fd.hpp"
#include "sandbox-launcher/exec_report.hpp"

namespace warder {

// Of this process, and of all that it starts from now on: execve() and execveat() wait for an answer on the descriptor.
// Not set, errno why: the kernel has no such thing (Linux 5.5).
Fd watch_executions();

// For the first process's loop. While nobody takes what it tells, nothing is executed.
class ExecWatch {
 public:
  // `listener` as above; `out` a SEQPACKET socket; `events` an epoll that gets listener, out and the processes.
  ExecWatch(Fd listener, int out, int events);
  ExecWatch(const ExecWatch&) = delete;

  // In the child that is to become CMD: it is told of, not told to.
  void close_in_child();
  // What epoll said of one of ours, by its number.
  static constexpr std::uint64_t kOthers = std::uint64_t{1}
                                           << 40;  // the loop's own numbers begin here
  void handle(std::uint64_t number, std::uint32_t what);
  // A child that waitpid() gave.
  void reaped(pid_t process, int status);
  // CMD has ended: tells the rest, within `limit_ms`.
  void finish(pid_t command, int status, int limit_ms);

 private:
  struct Process {
    std::uint64_t exec = 0;
    Fd handle;
  };
  void take();
  void answer(std::uint64_t id, int error);
  void follow(const ExecBegun& begun);
  void look_at(pid_t process, std::uint32_t what);
  void ended(pid_t process, std::optional<int> status);
  void tell(const ExecReport& report);
  void flush();
  void listen(bool on);

  Fd listener_;
  const int out_;
  const int events_;
  bool listening_ = false;
  bool writing_ = false;  // epoll tells when there is room again
  bool gone_ = false;     // nobody reads any more
  std::deque<std::string> packets_;
  std::optional<std::uint64_t> held_;  // the execve() that waits for its answer
  std::unordered_map<pid_t, Process> processes_;
  std::uint64_t execs_ = 0;
  std::uint64_t missing_ = 0;
};

}  // namespace warder
