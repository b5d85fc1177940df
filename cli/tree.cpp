#include "cli/tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <system_error>

#include "cli/terminal_text.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

using Directory = std::unique_ptr<DIR, decltype(&::closedir)>;

std::vector<std::string> names_of(Fd directory) {
  const Directory entries(::fdopendir(directory.get()), &::closedir);
  if (!entries) throw TreeError("cannot be listed", "a directory", errno);
  (void)directory.release();  // closedir() has it
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string by_descriptor(const Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

}  // namespace

TreeError::TreeError(const std::string& what, const fs::path& path, int error)
    : RunRefused(
          printable(path.string()) + " " + what + ": " + std::generic_category().message(error),
          125) {}

Tree::Tree(const Path& root)
    : root_(root), fd_(::open(root.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
  if (!fd_) throw TreeError("cannot be opened", root, errno);
}

bool Tree::can_be_named(const Path& path) { return path.native().size() < PATH_MAX; }

Fd Tree::open(const Path& path, std::uint64_t flags) const {
  open_how how{};
  how.flags = flags | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const char* name = path.empty() ? "." : path.c_str();
  for (;;) {
    Fd opened(static_cast<int>(::syscall(SYS_openat2, fd_.get(), name, &how, sizeof how)));
    if (opened || errno != EAGAIN) return opened;  // EAGAIN: something was renamed meanwhile
  }
}

std::optional<struct stat> Tree::entry(const Path& path) const {
  const Fd parent = open(path.parent_path(), O_PATH | O_DIRECTORY);
  struct stat what{};
  const std::string name = path.empty() ? "." : path.filename().string();
  if (parent && ::fstatat(parent.get(), name.c_str(), &what, AT_SYMLINK_NOFOLLOW) == 0) return what;
  // ELOOP: a link stands where the directory would have to be. Beneath it, nothing is ours.
  if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return std::nullopt;
  throw TreeError("cannot be looked at", path, errno);
}

std::string Tree::link_target(const Path& path) const {
  const Fd parent = open_parent(path);
  std::string target(PATH_MAX, '\0');
  const ssize_t size =
      ::readlinkat(parent.get(), path.filename().c_str(), target.data(), target.size());
  if (size < 0) throw TreeError("cannot be read", path, errno);
  target.resize(static_cast<std::size_t>(size));
  return target;
}

std::vector<std::string> Tree::names_in(const Path& directory) const {
  Fd opened = open(directory, O_RDONLY | O_DIRECTORY);
  if (!opened) throw TreeError("cannot be opened", directory, errno);
  return names_of(std::move(opened));
}

std::optional<std::string> Tree::attribute(const Path& path, const char* name) const {
  const Fd held = open(path, O_PATH);
  if (!held) throw TreeError("cannot be opened", path, errno);
  std::array<char, 1024> found{};
  const ssize_t size = ::getxattr(by_descriptor(held).c_str(), name, found.data(), found.size());
  if (size >= 0) return std::string(found.data(), static_cast<std::size_t>(size));
  if (errno == ENODATA || errno == EOPNOTSUPP) return std::nullopt;
  throw TreeError("has attributes that cannot be read", path, errno);
}

mode_t Tree::unlock(const Path& path, mode_t mode) const {
  constexpr const char* kKept = "user.overlay.warder-mode";
  const mode_t needed = S_ISDIR(mode) ? S_IRWXU : S_IRUSR | S_IWUSR;
  if (::geteuid() == 0) return mode;
  if ((mode & needed) == needed) {
    const auto kept = attribute(path, kKept);
    if (!kept) return mode;
    return (mode & S_IFMT) | static_cast<mode_t>(std::strtoul(kept->c_str(), nullptr, 8));
  }
  const Fd held = open(path, O_PATH);
  if (!held) throw TreeError("cannot be opened", path, errno);
  std::array<char, 16> text{};
  const int size = std::snprintf(text.data(), text.size(), "%o", mode & 07777);
  const std::string at = by_descriptor(held);
  if (::chmod(at.c_str(), (mode & 07777) | needed) != 0 ||
      ::setxattr(at.c_str(), kKept, text.data(), static_cast<std::size_t>(size), 0) != 0)
    throw TreeError("cannot be made readable", path, errno);
  return mode;
}

Fd Tree::open_file(const Path& path) const {
  Fd opened = open(path, O_RDONLY | O_NONBLOCK);
  struct stat what{};
  if (!opened || ::fstat(opened.get(), &what) != 0) throw TreeError("cannot be read", path, errno);
  if (!S_ISREG(what.st_mode)) throw TreeError("cannot be read as a file", path, EINVAL);
  return opened;
}

void Tree::change_mode(const Path& path, mode_t mode) const {
  const Fd held = open(path, O_PATH);
  struct stat what{};
  if (!held || ::fstat(held.get(), &what) != 0)
    throw TreeError("cannot be reached beneath its tree", path, errno);
  if (S_ISLNK(what.st_mode) || ::chmod(by_descriptor(held).c_str(), mode) != 0)
    throw TreeError("cannot be given its mode", path, S_ISLNK(what.st_mode) ? ELOOP : errno);
}

Fd Tree::open_parent(const Path& path) const {
  Fd opened = open(path.parent_path(), O_PATH | O_DIRECTORY);
  if (!opened) throw TreeError("cannot be reached beneath its tree", path, errno);
  return opened;
}

std::string Tree::contents(const Path& path, std::size_t most) const {
  const Fd file = open_file(path);
  std::string bytes(most, '\0');
  std::size_t done = 0;
  while (done < most) {
    const ssize_t n = ::read(file.get(), bytes.data() + done, most - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw TreeError("cannot be read", path, errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

bool same_contents(const Fd& one, const Fd& other) {
  constexpr std::size_t kPiece = 128 * 1024;
  std::string a(kPiece, '\0');
  std::string b(kPiece, '\0');
  const auto piece = [](const Fd& from, std::string& into) {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t n = ::read(from.get(), into.data() + done, into.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw TreeError("cannot be compared", "a file", errno);
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  };
  for (;;) {
    const std::size_t n = piece(one, a);
    if (n != piece(other, b) || std::memcmp(a.data(), b.data(), n) != 0) return false;
    if (n < kPiece) return true;
  }
}

void remove_tree(const Fd& parent, const std::string& name) {
  // Directories are moved up beside the first before they are emptied: a path inside may be longer than any buffer, and
  // deeper than there are descriptors.
  std::deque<std::string> ahead{name};
  std::size_t moved = 0;
  while (!ahead.empty()) {
    const std::string at = ahead.front();
    (void)::fchmodat(parent.get(), at.c_str(), 0700, 0);
    Fd directory(
        ::openat(parent.get(), at.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory && errno == ENOENT) {
      ahead.pop_front();
      continue;
    }
    if (!directory) throw TreeError("cannot be removed", at, errno);
    bool all_gone = true;
    for (const std::string& each : names_of(Fd(::fcntl(directory.get(), F_DUPFD_CLOEXEC, 0)))) {
      if (::unlinkat(directory.get(), each.c_str(), 0) == 0) continue;
      struct stat what{};
      if (::fstatat(directory.get(), each.c_str(), &what, AT_SYMLINK_NOFOLLOW) != 0 ||
          !S_ISDIR(what.st_mode))
        throw TreeError("cannot be removed", each, errno);
      if (::unlinkat(directory.get(), each.c_str(), AT_REMOVEDIR) == 0) continue;
      // To be moved it must be writable itself: its ".." changes.
      (void)::fchmodat(directory.get(), each.c_str(), 0700, 0);
      const std::string beside = name + ".part-" + std::to_string(++moved);
      if (::renameat(directory.get(), each.c_str(), parent.get(), beside.c_str()) != 0)
        throw TreeError("cannot be removed", each, errno);
      ahead.push_back(beside);
    }
    if (::unlinkat(parent.get(), at.c_str(), AT_REMOVEDIR) != 0) all_gone = false;
    if (!all_gone) throw TreeError("cannot be removed", at, errno);
    ahead.pop_front();
  }
}

}  // namespace warder
