// landlock(7) by number: the C library has no wrappers, and Debian 12's header knows the first two versions only.
#include "sandbox-launcher/landlock.hpp"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/fd.hpp"

namespace warder {
namespace {

constexpr std::uint64_t kTruncate = 1ULL << 14;  // version 3
constexpr int kSmallestVersion = 2;  // before it, no domain could move files between directories
constexpr int kTruncateVersion = 3;
constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kReadWholeView =
    kRead | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_REFER;

bool allow(int rules, int file, std::uint64_t access) {
  const landlock_path_beneath_attr rule{access, file};
  return ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

// As it was opened, and no wider. Pipes and sockets have no place in a file system, and need no rule.
bool allow_inherited(int rules, int fd, std::uint64_t write) {
  struct stat what{};
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fstat(fd, &what) != 0) return true;
  if (!S_ISREG(what.st_mode) && !S_ISCHR(what.st_mode)) return true;
  std::uint64_t access = 0;
  if ((flags & O_ACCMODE) != O_WRONLY) access |= kRead;
  if ((flags & O_ACCMODE) != O_RDONLY) access |= write;
  return allow(rules, fd, access);
}

}  // namespace

int landlock_version() {
  return static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
}

bool confine_to_view() {
  const int known = landlock_version();
  if (known < kSmallestVersion) return true;
  std::uint64_t write = LANDLOCK_ACCESS_FS_WRITE_FILE;
  if (known >= kTruncateVersion) write |= kTruncate;
  landlock_ruleset_attr handled{};
  handled.handled_access_fs = kReadWholeView | write;
  const Fd rules(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0)));
  const Fd view(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!rules || !view || !allow(rules.get(), view.get(), handled.handled_access_fs)) return false;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (!allow_inherited(rules.get(), fd, write)) return false;
  }
  return ::syscall(SYS_landlock_restrict_self, rules.get(), 0) == 0;
}

}  // namespace warder
