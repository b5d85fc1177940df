#include "protect/held_files.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "protect/beneath.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

// Of what is copied because the state lies on another file system.
constexpr std::size_t kMostCopied = 10'000;
constexpr std::uintmax_t kMostBytes = 256U << 20;
constexpr int kMostOfOneName = 1'000;

[[noreturn]] void cannot(const std::string& what) {
  throw std::runtime_error("cannot " + what + ": " + std::generic_category().message(errno));
}

std::string by_descriptor(const Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

// What the sandbox closed to its owner is opened again: only a directory that can be written is moved or moved from.
void open_up(const Fd& directory) {
  struct stat info{};
  if (::fstat(directory.get(), &info) != 0 || !S_ISDIR(info.st_mode)) return;
  if ((info.st_mode & 0700) != 0700)
    (void)::chmod(by_descriptor(directory).c_str(), (info.st_mode & 07777) | 0700);
}

void make_private(const fs::path& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    cannot("make " + directory.string());
}

bool is_small(const fs::path& path) {
  std::error_code error;
  std::size_t entries = 0;
  std::uintmax_t bytes = 0;
  const auto count = [&](const fs::path& each) {
    std::error_code ignored;
    if (fs::is_regular_file(fs::symlink_status(each, ignored)))
      bytes += fs::file_size(each, ignored);
    return ++entries <= kMostCopied && bytes <= kMostBytes;
  };
  if (!count(path)) return false;
  if (!fs::is_directory(fs::symlink_status(path, error))) return true;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!count(entry->path())) return false;
  }
  return !error;
}

bool copy_away(const fs::path& from, const fs::path& to) {
  constexpr auto kHow = fs::copy_options::recursive | fs::copy_options::copy_symlinks;
  if (!is_small(from)) return false;
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(from, error))) {
    fs::copy_symlink(from, to, error);
  } else {
    fs::copy(from, to, kHow, error);
  }
  if (!error) fs::remove_all(from, error);
  return !error;
}

}  // namespace

fs::path HeldFiles::place_for(const fs::path& relative, const std::string& label) {
  fs::create_directories(directory_.parent_path());
  make_private(directory_.parent_path());
  make_private(directory_);
  fs::path at = directory_ / label;
  make_private(at);
  for (const fs::path& part : relative.parent_path()) {
    at /= part;
    make_private(at);
  }
  const fs::path place = at / relative.filename();
  fs::path free = place;
  struct stat info{};
  for (int n = 1; ::lstat(free.c_str(), &info) == 0; ++n) {
    if (n > kMostOfOneName) throw std::runtime_error(place.string() + " is there already");
    free = place.string() + "." + std::to_string(n);
  }
  return free;
}

fs::path HeldFiles::take(const Fd& root, const fs::path& relative, const std::string& label) {
  const Fd parent = open_beneath(root, relative.parent_path(), O_PATH | O_DIRECTORY);
  if (!parent) cannot("open the directory of " + relative.string());
  open_up(parent);
  if (const Fd self = open_beneath(root, relative, O_PATH)) open_up(self);
  const fs::path to = place_for(relative, label);
  const std::string name = relative.filename();
  if (::renameat2(parent.get(), name.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0)
    return to;
  if (errno != EXDEV && errno != EINVAL) cannot("move " + relative.string() + " to " + to.string());
  const fs::path from = fs::path(by_descriptor(parent)) / name;
  if (copy_away(from, to)) return to;
  // Better another name than the one that is believed.
  const std::string beside = name + ".held-by-warder-" + directory_.filename().string();
  if (::renameat2(parent.get(), name.c_str(), parent.get(), beside.c_str(), RENAME_NOREPLACE) != 0)
    cannot("rename " + relative.string());
  throw std::runtime_error(relative.string() + " could not be moved to " + to.string() +
                           ": it is now " + (relative.parent_path() / beside).string());
}

void HeldFiles::put(const Fd& root, const fs::path& relative, std::string_view text) {
  const Fd parent = open_beneath(root, relative.parent_path(), O_PATH | O_DIRECTORY);
  const std::string name = relative.filename();
  struct stat info{};
  if (!parent || ::fstat(parent.get(), &info) != 0)
    cannot("open the directory of " + relative.string());
  const Fd file(::openat(parent.get(), name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file) cannot("write " + relative.string());
  (void)::fchown(file.get(), info.st_uid, info.st_gid);
  while (!text.empty()) {
    const ssize_t n = ::write(file.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) cannot("write " + relative.string());
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace warder
