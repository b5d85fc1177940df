// The filter, loaded for real in a child and asked call by call.
#include "sandbox-launcher/seccomp.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <functional>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"

namespace warder::test {
namespace {

// How `attempt` ended under the filter: the code it returns, or 1000 + the signal that killed it.
int filtered(const std::function<int()>& attempt) {
  const Fd program = seccomp_program();
  struct stat size{};
  REQUIRE(::fstat(program.get(), &size) == 0);
  REQUIRE(size.st_size > 0);
  REQUIRE(size.st_size % sizeof(sock_filter) == 0);
  std::vector<sock_filter> code(static_cast<std::size_t>(size.st_size) / sizeof(sock_filter));
  REQUIRE(::read(program.get(), code.data(), static_cast<std::size_t>(size.st_size)) ==
          size.st_size);

  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const sock_fprog loaded{static_cast<unsigned short>(code.size()), code.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) ::_exit(250);
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &loaded) != 0) ::_exit(251);
    ::_exit(attempt());
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

constexpr int kPassed = 0;

// The call's error number under the filter; 0 when it did what it was asked.
int call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  return filtered(
      [number, a, b, c, d, e] { return ::syscall(number, a, b, c, d, e) >= 0 ? kPassed : errno; });
}

constexpr long kRubbish = 0x7bad0000'00000000;  // in the half that the kernel does not look at

TEST_CASE("sockets of four families can be made, and of no other") {
  CHECK(call(SYS_socket, AF_UNIX, SOCK_STREAM) == kPassed);
  CHECK(call(SYS_socket, AF_INET, SOCK_STREAM) == kPassed);
  CHECK(call(SYS_socket, AF_INET6, SOCK_DGRAM) == kPassed);
  CHECK(call(SYS_socket, AF_NETLINK, SOCK_RAW) == kPassed);
  CHECK(call(SYS_socket, AF_INET | kRubbish, SOCK_STREAM) == kPassed);
  for (long protocol = 1; protocol < 30; ++protocol) {
    CAPTURE(protocol);
    CHECK(call(SYS_socket, AF_NETLINK, SOCK_RAW, protocol) == EPROTONOSUPPORT);
    CHECK(call(SYS_socket, AF_NETLINK | kRubbish, SOCK_DGRAM, protocol | kRubbish) ==
          EPROTONOSUPPORT);
  }
  const int code = filtered([] {
    for (long family = 0; family < 70'000; ++family) {
      if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK)
        continue;
      for (const long half : {0L, kRubbish}) {
        const bool made = ::syscall(SYS_socket, family | half, SOCK_STREAM, 0) >= 0;
        if (made || errno != EAFNOSUPPORT) return 1;
      }
    }
    return kPassed;
  });
  CHECK(code == kPassed);
  CHECK(call(SYS_socket, AF_VSOCK, SOCK_STREAM) == EAFNOSUPPORT);
  CHECK(call(SYS_socket, AF_VSOCK | kRubbish, SOCK_STREAM) == EAFNOSUPPORT);
  for (int bit = 5; bit < 32; ++bit) {
    CAPTURE(bit);
    CHECK(call(SYS_socket, AF_INET | (1L << bit), SOCK_STREAM) == EAFNOSUPPORT);
  }
}

TEST_CASE("a pair of unix sockets can be made") {
  const int code = filtered([] {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return errno;
    return ::socketpair(AF_TIPC, SOCK_STREAM, 0, ends) == -1 && errno == EAFNOSUPPORT ? kPassed : 1;
  });
  CHECK(code == kPassed);
}

TEST_CASE("io_uring and clone3 look as on an older kernel, so that programs fall back") {
  for (const long number :
       {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_clone3}) {
    CAPTURE(number);
    CHECK(call(number) == ENOSYS);
  }
}

TEST_CASE("the kernel's own machinery and the mounts are refused") {
  constexpr int kOpenTreeAttr = 467;
  for (const long number : {SYS_bpf,
                            SYS_perf_event_open,
                            SYS_userfaultfd,
                            SYS_keyctl,
                            SYS_add_key,
                            SYS_request_key,
                            SYS_kexec_load,
                            SYS_kexec_file_load,
                            SYS_init_module,
                            SYS_finit_module,
                            SYS_delete_module,
                            SYS_mount,
                            SYS_umount2,
                            SYS_pivot_root,
                            SYS_move_mount,
                            SYS_open_tree,
                            SYS_fsopen,
                            SYS_fsconfig,
                            SYS_fsmount,
                            SYS_fspick,
                            SYS_mount_setattr,
                            SYS_setns,
                            SYS_open_by_handle_at,
                            SYS_name_to_handle_at,
                            SYS_swapon,
                            SYS_swapoff,
                            SYS_reboot,
                            SYS_acct,
                            SYS_quotactl,
                            SYS_syslog,
                            SYS_settimeofday,
                            SYS_clock_settime,
                            SYS_adjtimex,
                            SYS_clock_adjtime,
                            SYS_vhangup,
                            kOpenTreeAttr}) {
    CAPTURE(number);
    CHECK(call(number) == EPERM);
  }
}

TEST_CASE("no namespace is made, by either call, with whatever else is asked for") {
  for (const int flag : {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER,
                         CLONE_NEWPID, CLONE_NEWNET}) {
    CAPTURE(flag);
    CHECK(call(SYS_unshare, flag) == EPERM);
    CHECK(call(SYS_unshare, flag | CLONE_FILES | kRubbish) == EPERM);
    CHECK(call(SYS_clone, flag | SIGCHLD) == EPERM);
    CHECK(call(SYS_clone, flag | SIGCHLD | kRubbish) == EPERM);
  }
  constexpr long kNewTime = 0x80;
  CHECK(call(SYS_unshare, kNewTime) == EPERM);
  CHECK(call(SYS_unshare, CLONE_FILES) == kPassed);
}

TEST_CASE("no file is made or changed so that it would run as its owner") {
  const char* const path = "/tmp/warder-test-seccomp";
  const auto at = reinterpret_cast<long>(path);
  ::unlink(path);
  constexpr long kFchmodat2 = 452;
  for (const long mode : {04755L, 02755L, 06755L}) {
    for (const long half : {0L, kRubbish}) {
      CAPTURE(mode, half);
      CHECK(call(SYS_chmod, at, mode | half) == EPERM);
      CHECK(call(SYS_fchmod, 0, mode | half) == EPERM);
      CHECK(call(SYS_fchmodat, AT_FDCWD, at, mode | half) == EPERM);
      CHECK(call(kFchmodat2, AT_FDCWD, at, mode | half) == EPERM);
      CHECK(call(SYS_mknod, at, S_IFREG | mode | half) == EPERM);
      CHECK(call(SYS_mknodat, AT_FDCWD, at, S_IFREG | mode | half) == EPERM);
      CHECK(call(SYS_creat, at, mode | half) == EPERM);
      CHECK(call(SYS_open, at, O_CREAT | O_WRONLY | half, mode | half) == EPERM);
      CHECK(call(SYS_openat, AT_FDCWD, at, O_CREAT | O_WRONLY | half, mode | half) == EPERM);
      CHECK(call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/tmp"), O_TMPFILE | O_WRONLY,
                 mode | half) == EPERM);
    }
  }
  struct {
    unsigned long flags, mode, resolve;
  } how{O_CREAT | O_WRONLY, 04755, 0};
  constexpr long kOpenat2 = 437;
  CHECK(call(kOpenat2, AT_FDCWD, at, reinterpret_cast<long>(&how), sizeof how) == ENOSYS);
  CHECK(::access(path, F_OK) != 0);
  CHECK(call(SYS_openat, AT_FDCWD, at, O_CREAT | O_WRONLY, 01644) == kPassed);
  CHECK(call(SYS_chmod, at, 0755) == kPassed);
  CHECK(call(SYS_openat, AT_FDCWD, at, O_RDONLY, 04755) == kPassed);  // no mode is meant
  ::unlink(path);
}

TEST_CASE("the terminal's input cannot be written, in any disguise") {
  for (const long request : {0x5412L, 0x541cL}) {
    CAPTURE(request);
    CHECK(call(SYS_ioctl, 0, request) == EPERM);
    CHECK(call(SYS_ioctl, 0, request | kRubbish) == EPERM);
    CHECK(call(SYS_ioctl, 0, request | 0x1'00000000) == EPERM);
  }
  const int code = filtered([] {
    int waiting = 0;
    int ends[2];
    return ::pipe(ends) == 0 && ::ioctl(ends[0], FIONREAD, &waiting) == 0 ? kPassed : errno;
  });
  CHECK(code == kPassed);
}

TEST_CASE("processes, threads and programs start as ever") {
  CHECK(filtered([] {
          const pid_t child = ::fork();
          if (child == 0) ::_exit(7);
          int status = 0;
          return ::waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7 ? kPassed : 1;
        }) == kPassed);
#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer)
  CHECK(filtered([] {
          int value = 0;
          std::thread([&] { value = 7; }).join();
          return value == 7 ? kPassed : 1;
        }) == kPassed);
#endif
  CHECK(filtered([] {
          ::execl("/bin/sh", "sh", "-c", "ls / | sort > /dev/null && exit 7",
                  static_cast<char*>(nullptr));
          return 1;
        }) == 7);
}

#ifdef __x86_64__
TEST_CASE("system calls of i386 and x32 kill the process") {
  constexpr int kKilled = 1000 + SIGSYS;
  CHECK(filtered([] {
          long result = 20;  // getpid of i386
          asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
          return result > 0 ? 1 : 2;
        }) == kKilled);
  constexpr long kX32 = 0x40000000;
  CHECK(call(kX32 | SYS_getpid) == kKilled);
  CHECK(call(kX32 | SYS_socket, AF_VSOCK, SOCK_STREAM) == kKilled);
  CHECK(call(SYS_getpid) == kPassed);
}
#endif

TEST_CASE("the program is read from its beginning and not passed on by accident") {
  const Fd program = seccomp_program();
  CHECK(::lseek(program.get(), 0, SEEK_CUR) == 0);
  CHECK((::fcntl(program.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

}  // namespace
}  // namespace warder::test
