#include "protect/beneath.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <climits>
#include <stdexcept>

namespace warder {
namespace {

namespace fs = std::filesystem;

Fd open_with(int at, const fs::path& path, int flags, std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.resolve = resolve;
  for (;;) {
    Fd opened(static_cast<int>(::syscall(SYS_openat2, at, path.c_str(), &how, sizeof how)));
    if (opened) return opened;
    if (errno == ENOSYS)
      throw std::runtime_error(
          "openat2 is missing: Warder needs Linux 5.6, and a container that "
          "does not forbid it");
    if (errno != EAGAIN && errno != EINTR)
      return opened;  // EAGAIN: something was renamed meanwhile
  }
}

}  // namespace

Fd open_root(const fs::path& path) {
  return open_with(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
}

Fd open_beneath(const Fd& root, const fs::path& relative, int flags) {
  return open_with(root.get(), relative.empty() ? "." : relative, flags,
                   RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

std::optional<struct stat> look_beneath(const Fd& root, const fs::path& relative) {
  const Fd parent = open_beneath(root, relative.parent_path(), O_PATH | O_DIRECTORY);
  struct stat info{};
  if (!parent ||
      ::fstatat(parent.get(), relative.filename().c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return std::nullopt;
  return info;
}

std::optional<std::string> link_beneath(const Fd& root, const fs::path& relative) {
  const Fd parent = open_beneath(root, relative.parent_path(), O_PATH | O_DIRECTORY);
  if (!parent) return std::nullopt;
  std::array<char, PATH_MAX> target{};
  const ssize_t n =
      ::readlinkat(parent.get(), relative.filename().c_str(), target.data(), target.size());
  if (n < 0) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(n));
}

std::optional<std::string> read_beneath(const Fd& root, const fs::path& relative,
                                        std::size_t most) {
  const Fd file = open_beneath(root, relative, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  std::string bytes(most, '\0');
  std::size_t done = 0;
  while (done < most) {
    const ssize_t n = ::read(file.get(), bytes.data() + done, most - done);
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

}  // namespace warder
