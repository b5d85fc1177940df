// What else the kernel does for a sandbox: filters, memory files, Landlock, overlays, idmapped mounts; and, inside one,
// what must not work.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>

#include "base/fd.hpp"
#include "sandbox-launcher/landlock.hpp"
#include "sandbox-launcher/network.hpp"
#include "sandbox-launcher/probe.hpp"
#include "sandbox-launcher/seccomp.hpp"
#include "sandbox-launcher/staging.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

void promise_no_new_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) throw launch_error("give up new privileges");
}

// clone3 is unknown behind our filter and only badly called without it.
std::string try_system_call_filter() {
  const Fd program = seccomp_program();
  std::array<sock_filter, BPF_MAXINSNS> code{};
  const ssize_t size = ::read(program.get(), code.data(), sizeof code);
  if (size <= 0) throw launch_error("read the system call filter");
  promise_no_new_privileges();
  const sock_fprog filter{static_cast<unsigned short>(size / static_cast<ssize_t>(sizeof code[0])),
                          code.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0)
    throw launch_error("install the system call filter (CONFIG_SECCOMP_FILTER)", Cause::old_kernel);
  if (::syscall(SYS_clone3, nullptr, 0) != -1 || errno != ENOSYS)
    throw LaunchError("the system call filter was taken and refuses nothing");
  return {};
}

std::string try_memory_file() {
  constexpr std::string_view kText = "warder";
  const Fd file(::memfd_create("warder-doctor", 0));
  if (!file) throw memory_file_error("make a memory file");
  std::array<char, kText.size()> back{};
  if (::pwrite(file.get(), kText.data(), kText.size(), 0) != static_cast<ssize_t>(kText.size()) ||
      ::pread(file.get(), back.data(), back.size(), 0) != static_cast<ssize_t>(back.size()))
    throw launch_error("use a memory file");
  return {};
}

std::string try_landlock() {
  const int version = landlock_version();
  if (version < 0) fail("ask for Landlock", Cause::no_landlock);
  constexpr int kNeeded = 2;
  if (version < kNeeded)
    throw Missing("Landlock is of version " + std::to_string(version), Cause::no_landlock);
  promise_no_new_privileges();
  if (!confine_to_view()) fail("confine a process by Landlock", Cause::no_landlock);
  return "version " + std::to_string(version);
}

constexpr int kMark = 4711;

// Answers the one call that the child makes.
void answer(const Fd& listener) {
  alignas(seccomp_notif) std::array<char, 512> request{};
  if (::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_RECV, request.data()) != 0)
    throw launch_error("receive a system call (seccomp user notification)");
  alignas(seccomp_notif_resp) std::array<char, 512> response{};
  auto& reply = *reinterpret_cast<seccomp_notif_resp*>(response.data());
  reply.id = reinterpret_cast<const seccomp_notif*>(request.data())->id;
  reply.val = kMark;
  if (::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_SEND, response.data()) != 0)
    throw launch_error("answer a system call (seccomp user notification)");
}

std::string try_user_notification() {
  promise_no_new_privileges();
  std::array<sock_filter, 4> code{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog filter{code.size(), code.data()};
  const Fd listener(static_cast<int>(
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter)));
  if (!listener)
    fail("supervise system calls (seccomp user notification)",
         errno == EBUSY ? Cause::unknown : Cause::old_kernel);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::syscall(SYS_getppid) == kMark ? 0 : 1);
  answer(listener);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0)
    throw LaunchError("a supervised system call did not get its answer");
  return {};
}

// Linux 6.15; <linux/pidfd.h> of Debian 12 does not know it.
struct PidfdInfo {
  std::uint64_t mask;
  std::uint64_t cgroup;
  std::array<std::uint32_t, 11> ids;
  std::int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);

std::string try_pidfd_exit_info() {
  constexpr std::uint64_t kExit = 1U << 3;
  constexpr int kCode = 7;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(kCode);
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!process) fail("open a process (pidfd_open)", Cause::old_kernel);
  ::waitpid(child, nullptr, 0);
  PidfdInfo info{};
  info.mask = kExit;
  if (::ioctl(process.get(), _IOWR(0xFF, 11, PidfdInfo), &info) != 0 || (info.mask & kExit) == 0)
    fail("ask how a process ended (PIDFD_GET_INFO)", Cause::old_kernel);
  if (WEXITSTATUS(info.exit_code) != kCode)
    throw LaunchError("the kernel says a wrong exit code (PIDFD_GET_INFO)");
  return {};
}

void make_directory(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) != 0) throw launch_error("make " + path.string());
}

// A layer over a directory: a file of it changed, another removed, and the directory itself as it was.
std::string try_overlay(const ProbePlace& place) {
  if (place.root) {
    const Identity& workload = place.workload;
    if (::chown(place.scratch.c_str(), workload.uid, workload.gid) != 0)
      throw launch_error("give away " + place.scratch.string());
    give_up_root(workload);
  }
  enter_namespaces(CLONE_NEWNS, place.workload.uid, place.workload.gid);
  const fs::path base = place.scratch / "overlay";
  for (const fs::path& each : {base, base / "lower", base / "upper", base / "work", base / "all"})
    make_directory(each);
  for (const char* name : {"changed", "removed"}) std::ofstream(base / "lower" / name) << "before";
  const std::string options = "userxattr,lowerdir=" + (base / "lower").string() +
                              ",upperdir=" + (base / "upper").string() +
                              ",workdir=" + (base / "work").string();
  const std::string all = base / "all";
  if (::mount("overlay", all.c_str(), "overlay", 0, options.c_str()) != 0)
    fail("mount an overlay in a user namespace", Cause::no_overlay);
  std::ofstream(base / "all/changed") << "after";
  const bool removed = ::unlink((base / "all/removed").c_str()) == 0;
  const bool gone = removed && !fs::exists(base / "all/removed");
  ::umount2(all.c_str(), MNT_DETACH);
  // The kernel's own, closed even to its owner, who is to remove it.
  (void)::chmod((base / "work/work").c_str(), 0700);
  std::string below;
  std::ifstream(base / "lower/changed") >> below;
  if (!gone || below != "before" || !fs::exists(base / "lower/removed"))
    throw LaunchError("an overlay does not keep changes apart");
  return {};
}

std::string try_idmapped_mount(const ProbePlace& place) {
  struct stat what{};
  if (::stat(place.workspace.c_str(), &what) != 0)
    throw launch_error("look at " + place.workspace.string());
  if ((what.st_mode & S_IWOTH) != 0) return "not needed here: everybody may write";
  // Not its owner, so that there is something to map.
  const Owner owner{what.st_uid + 1, what.st_gid + 1};
  const auto staged = stage({place.workspace}, {place.workspace}, owner);
  struct stat seen{};
  if (::stat(staged.begin()->second.c_str(), &seen) != 0) throw launch_error("look at the mount");
  if (seen.st_uid != owner.uid) throw LaunchError("an idmapped mount shows the real owner");
  return {};
}

// TIOCSTI types into the terminal of whoever started the sandbox.
std::string try_terminal_injection() {
  const Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!master || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0)
    throw launch_error("make a terminal");
  std::array<char, 64> name{};
  if (::ptsname_r(master.get(), name.data(), name.size()) != 0)
    throw launch_error("name a terminal");
  if (::fork() != 0) {  // a session of its own takes somebody who leads no group
    int status = 0;
    ::wait(&status);
    if (status == 0) return {};
    throw LaunchError("text can be typed into a terminal (TIOCSTI)");
  }
  ::setsid();
  const Fd terminal(::open(name.data(), O_RDWR | O_CLOEXEC));
  const char letter = 'x';
  const bool mine = terminal && ::ioctl(terminal.get(), TIOCSCTTY, 0) == 0;
  ::_exit(mine && ::ioctl(terminal.get(), TIOCSTI, &letter) == 0 ? 1 : 0);
}

std::string try_shared_memory() {
  constexpr const char* kFile = "/dev/shm/warder-doctor";
  const Fd file(::open(kFile, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file || ::ftruncate(file.get(), 4096) != 0) throw launch_error("use /dev/shm");
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (page == MAP_FAILED) throw launch_error("map a file of /dev/shm");
  std::memset(page, 1, 4096);
  ::unlink(kFile);
  return {};
}

std::string try_no_privileges() {
  std::ifstream status("/proc/self/status");
  std::string found;
  for (std::string line; std::getline(status, line);) {
    for (const char* key : {"CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:"}) {
      if (line.starts_with(key)) found += line.substr(line.find('\t') + 1) + ' ';
    }
  }
  if (found != "0000000000000000 0000000000000000 1 2 ")
    throw LaunchError("the sandbox kept privileges: " + found);
  return {};
}

}  // namespace

std::vector<NamedTry> kernel_tries(const ProbePlace& place) {
  std::vector<NamedTry> tries{{"system_call_filter", try_system_call_filter},
                              {"memory_file", try_memory_file},
                              {"landlock", try_landlock},
                              {"user_notification", try_user_notification},
                              {"pidfd_exit_info", try_pidfd_exit_info},
                              {"overlay", [&place] { return try_overlay(place); }}};
  if (place.root)
    tries.push_back({"idmapped_mount", [&place] { return try_idmapped_mount(place); }});
  return tries;
}

std::vector<NamedTry> tries_inside() {
  return {{"no_privileges", try_no_privileges},
          {"terminal_injection", try_terminal_injection},
          {"shared_memory", try_shared_memory}};
}

}  // namespace warder
