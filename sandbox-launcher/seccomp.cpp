// The filter: everything is allowed but what leaves the namespaces, widens the kernel's attack surface, or acts for root.
// libseccomp compares 64 bits; the kernel reads flags, families and ioctl numbers as 32. Every comparison here is
// therefore masked: a call with rubbish in the upper half is judged by what the kernel will see.
#include "sandbox-launcher/seccomp.hpp"

#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "sandbox-launcher/launch_error.hpp"

namespace warder {
namespace {

using Filter = std::unique_ptr<void, decltype(&seccomp_release)>;

constexpr std::uint64_t kLow32 = 0xffffffff;
constexpr std::uint32_t kRefuse = SCMP_ACT_ERRNO(EPERM);
constexpr std::uint32_t kUnknown = SCMP_ACT_ERRNO(ENOSYS);
constexpr std::uint32_t kNoFamily = SCMP_ACT_ERRNO(EAFNOSUPPORT);

// A program falls back to something older when the kernel does not know these. io_uring makes sockets of any family past
// this filter; clone3 hides its flags behind a pointer, and openat2 its mode.
constexpr std::array kAbsent{"io_uring_setup", "io_uring_enter", "io_uring_register", "clone3",
                             "openat2"};

constexpr std::array kRefused{
    // the kernel's own programs, events and keys
    "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key", "kexec_load",
    "kexec_file_load", "init_module", "finit_module", "delete_module", "lookup_dcookie",
    // the file view and the namespaces
    "mount", "umount2", "pivot_root", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount",
    "fspick", "mount_setattr", "setns", "open_by_handle_at", "name_to_handle_at",
    // the machine
    "swapon", "swapoff", "reboot", "acct", "quotactl", "quotactl_fd", "syslog", "settimeofday",
    "clock_settime", "clock_settime64", "adjtimex", "clock_adjtime", "clock_adjtime64", "iopl",
    "ioperm", "vhangup", "nfsservctl"};

// Linux 6.15; the same number everywhere. The library of Debian 12 does not know the name.
constexpr int kOpenTreeAttr = 467;

constexpr std::uint64_t kNewTime =
    0x80;  // of unshare(2) only: in clone(2) the bit belongs to the exit signal
constexpr std::array<std::uint64_t, 7> kNewNamespaces{CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
                                                      CLONE_NEWIPC, CLONE_NEWUSER,   CLONE_NEWPID,
                                                      CLONE_NEWNET};

void must(int result, const std::string& step) {
  if (result == 0) return;
  errno = -result;
  throw launch_error("build the system call filter (" + step + ")");
}

int number_of(const std::string& name) {
  const int number = seccomp_syscall_resolve_name(name.c_str());
  if (number == __NR_SCMP_ERROR)
    throw LaunchError("libseccomp does not know the system call " + name);
  return number;
}

void refuse(const Filter& filter, const std::string& name, std::uint32_t action) {
  must(seccomp_rule_add(filter.get(), action, number_of(name), 0), name);
}

// `name` whose argument `index`, under `mask`, is `value`.
void refuse_when(const Filter& filter, const std::string& name, std::uint32_t action,
                 unsigned index, std::uint64_t mask, std::uint64_t value) {
  const scmp_arg_cmp condition{index, SCMP_CMP_MASKED_EQ, mask, value};
  must(seccomp_rule_add_array(filter.get(), action, number_of(name), 1, &condition), name);
}

bool family_allowed(int family) {
  return family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
}

// An allow-list spelt as refusals, since the filter's default is to allow and one rule may test an argument only once:
// each small number that is not on the list, then each higher bit.
void refuse_other_families(const Filter& filter, const std::string& name) {
  constexpr int kSmall = 32;
  for (int family = 0; family < kSmall; ++family) {
    if (family_allowed(family)) continue;
    refuse_when(filter, name, kNoFamily, 0, kLow32, static_cast<std::uint64_t>(family));
  }
  for (std::uint64_t bit = kSmall; bit <= 0x80000000; bit <<= 1) {
    refuse_when(filter, name, kNoFamily, 0, bit, bit);
  }
}

// Of the netlink families only routes and interfaces, which the C library asks for: the others lead into parts of the
// kernel that no sandboxed program needs.
void refuse_other_netlink(const Filter& filter) {
  const std::array<scmp_arg_cmp, 2> conditions{
      {{0, SCMP_CMP_MASKED_EQ, kLow32, AF_NETLINK}, {2, SCMP_CMP_NE, NETLINK_ROUTE, 0}}};
  constexpr std::uint32_t kNoProtocol = SCMP_ACT_ERRNO(EPROTONOSUPPORT);
  must(seccomp_rule_add_array(filter.get(), kNoProtocol, number_of("socket"), conditions.size(),
                              conditions.data()),
       "netlink");
}

// What CMD makes in the workspace belongs to the workspace's owner, who may be root: a file of it that runs as its owner
// would lend root to every user of the host. The sandbox itself has no use for one, its mounts are nosuid.
void refuse_set_id(const Filter& filter) {
  struct ModeArgument {
    const char* name;
    unsigned index;
  };
  constexpr std::array<ModeArgument, 5> kChange{
      {{"chmod", 1}, {"fchmod", 1}, {"fchmodat", 2}, {"mknod", 1}, {"mknodat", 2}}};
  constexpr std::array<ModeArgument, 2> kOpen{{{"open", 2}, {"openat", 3}}};
  constexpr std::uint64_t kTmpFile = O_TMPFILE & ~O_DIRECTORY;
  constexpr int kFchmodat2 = 452;  // Linux 6.6; the same number everywhere
  for (const std::uint64_t bit : {S_ISUID, S_ISGID}) {
    for (const ModeArgument& call : kChange)
      refuse_when(filter, call.name, kRefuse, call.index, bit, bit);
    refuse_when(filter, "creat", kRefuse, 1, bit, bit);
    const scmp_arg_cmp mode{2, SCMP_CMP_MASKED_EQ, bit, bit};
    must(seccomp_rule_add_array(filter.get(), kRefuse, kFchmodat2, 1, &mode), "fchmodat2");
    for (const ModeArgument& call : kOpen) {
      for (const std::uint64_t makes : {std::uint64_t{O_CREAT}, kTmpFile}) {
        const std::array<scmp_arg_cmp, 2> conditions{
            {{call.index - 1, SCMP_CMP_MASKED_EQ, makes, makes},
             {call.index, SCMP_CMP_MASKED_EQ, bit, bit}}};
        must(seccomp_rule_add_array(filter.get(), kRefuse, number_of(call.name), conditions.size(),
                                    conditions.data()),
             call.name);
      }
    }
  }
}

// "My own process group" reaches all of it, in whatever process namespace: `warder` and whoever started it.
void refuse_own_group(const Filter& filter) {
  refuse_when(filter, "kill", kRefuse, 0, kLow32, 0);
  constexpr std::uint64_t kIoGroup = 2;  // IOPRIO_WHO_PGRP
  for (const auto& [name, which] :
       {std::pair{"setpriority", std::uint64_t{PRIO_PGRP}}, std::pair{"ioprio_set", kIoGroup}}) {
    const std::array<scmp_arg_cmp, 2> conditions{
        {{0, SCMP_CMP_MASKED_EQ, kLow32, which}, {1, SCMP_CMP_MASKED_EQ, kLow32, 0}}};
    must(seccomp_rule_add_array(filter.get(), kRefuse, number_of(name), conditions.size(),
                                conditions.data()),
         name);
  }
}

void add_rules(const Filter& filter) {
  for (const char* name : kAbsent) refuse(filter, name, kUnknown);
  for (const char* name : kRefused) refuse(filter, name, kRefuse);
  must(seccomp_rule_add(filter.get(), kRefuse, kOpenTreeAttr, 0), "open_tree_attr");
  for (const std::uint64_t flag : kNewNamespaces) {
    refuse_when(filter, "clone", kRefuse, 0, flag, flag);
    refuse_when(filter, "unshare", kRefuse, 0, flag, flag);
  }
  refuse_when(filter, "unshare", kRefuse, 0, kNewTime, kNewTime);
  refuse_other_families(filter, "socket");
  refuse_other_families(filter, "socketpair");
  refuse_other_netlink(filter);
  refuse_set_id(filter);
  // The first process has the workload's uid: with fewer files to open it could not say who executed what, and how it
  // ended.
  refuse_when(filter, "prlimit64", kRefuse, 0, kLow32, 1);
  // Nor could it tell a signal of `warder` from one with a made-up sender.
  refuse_when(filter, "rt_sigqueueinfo", kRefuse, 0, kLow32, 1);
  refuse_when(filter, "rt_tgsigqueueinfo", kRefuse, 0, kLow32, 1);
  const scmp_arg_cmp with_info{2, SCMP_CMP_NE, 0, 0};
  must(seccomp_rule_add_array(filter.get(), kRefuse, number_of("pidfd_send_signal"), 1, &with_info),
       "pidfd_send_signal");
  // Both put characters into the terminal's input, to be read by the shell that started us.
  constexpr std::uint64_t kTiocLinux = 0x541c;
  refuse_when(filter, "ioctl", kRefuse, 1, kLow32, TIOCSTI);
  refuse_when(filter, "ioctl", kRefuse, 1, kLow32, kTiocLinux);
}

}  // namespace

Fd seccomp_program(Pinned pinned, Group group) {
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW), &seccomp_release);
  if (!filter) throw LaunchError("cannot build the system call filter: out of memory");
  // i386 and x32 have numbers of their own, that the rules do not name.
  must(seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS),
       "foreign architectures");
  constexpr std::uint32_t kBinaryTree = 2;
  must(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, kBinaryTree), "optimise");
  add_rules(filter);
  if (pinned == Pinned::yes) refuse(filter, "sched_setaffinity", kRefuse);
  if (group == Group::shared) refuse_own_group(filter);

  Fd program(::memfd_create("warder-seccomp", MFD_CLOEXEC));
  if (!program) throw memory_file_error("make a memory file for the system call filter");
  must(seccomp_export_bpf(filter.get(), program.get()), "export");
  if (::lseek(program.get(), 0, SEEK_SET) != 0) throw launch_error("rewind the system call filter");
  return program;
}

}  // namespace warder
