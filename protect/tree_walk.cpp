#include "protect/tree_walk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protect/beneath.hpp"
#include "protect/path_tables.hpp"
#include "sandbox-launcher/view_paths.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string name;
  unsigned char type;
};

unsigned char type_of(int directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type;
  struct stat info{};
  if (::fstatat(directory, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) return DT_UNKNOWN;
  return static_cast<unsigned char>(IFTODT(info.st_mode));
}

// False: there were more than `left`, which is counted down.
bool read_entries(const Fd& directory, std::vector<Entry>& entries, std::size_t& left) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(
      ::fdopendir(::fcntl(directory.get(), F_DUPFD_CLOEXEC, 0)), &::closedir);
  if (!stream) return true;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (left == 0) return false;
    --left;
    entries.push_back({std::string(name), type_of(directory.get(), *entry)});
  }
  return true;
}

bool is_git_name(const std::string& name) {
  // ".GIT" is the same on a file system that does not tell the cases apart.
  constexpr std::string_view kGit = ".git";
  return std::equal(name.begin(), name.end(), kGit.begin(), kGit.end(),
                    [](char a, char b) { return a == b || (a >= 'A' && a <= 'Z' && a + 32 == b); });
}

// As git tells: also one without a work tree, which it finds below any directory that somebody enters.
bool looks_like_repository(const std::vector<Entry>& entries) {
  const auto has = [&](std::string_view name) {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const Entry& entry) { return entry.name == name; });
  };
  return has("HEAD") && (has("commondir") || (has("objects") && has("refs")));
}

class Walk {
 public:
  Walk(const Fd& root, const fs::path& path, LookFor what, const std::vector<fs::path>& leave_out,
       const WalkBounds& bounds)
      : root_(root),
        path_(path),
        what_(what),
        leave_out_(leave_out),
        bounds_(bounds),
        entries_left_(bounds.entries),
        bytes_left_(bounds.bytes) {}

  TreeFindings run() {
    ahead_.push_back({});
    // Breadth first: the bounds cut what is deep.
    while (!ahead_.empty()) {
      const Place place = std::move(ahead_.front());
      ahead_.pop_front();
      look(place);
    }
    return std::move(found_);
  }

 private:
  struct Place {
    fs::path at{};
    std::size_t depth = 0;
    bool in_git = false;
  };

  void look(const Place& place) {
    if (std::find(leave_out_.begin(), leave_out_.end(), path_ / place.at) != leave_out_.end())
      return;
    const Fd directory = open_to_read(place.at);
    if (!directory)
      return;  // gone, or another's and closed to the caller, as it then is to the sandbox
    std::vector<Entry> entries;
    if (!read_entries(directory, entries, entries_left_)) found_.whole = false;
    const bool git =
        (place.depth > 0 && is_git_name(place.at.filename())) || looks_like_repository(entries);
    if (git) found_.repositories.push_back(place.at);
    for (const Entry& entry : entries) {
      const fs::path at = place.at / entry.name;
      if (is_git_name(entry.name) && entry.type != DT_DIR) found_.git_files.push_back(at);
      if (entry.type == DT_DIR) {
        enter(place, entry, at, git);
      } else if (entry.type == DT_REG && what_ == LookFor::secrets_too && !place.in_git) {
        if (is_secret(directory, entry.name)) found_.secrets.push_back(at);
      } else if (entry.type == DT_LNK && what_ == LookFor::secrets_too && !place.in_git) {
        follow_secret(at, secret_check(entry.name));
      }
    }
  }

  // One of the caller's own that cannot be listed may be entered all the same, and git finds a repository in it.
  Fd open_to_read(const fs::path& at) {
    Fd directory = open_beneath(root_, at, O_RDONLY | O_DIRECTORY);
    if (directory || errno != EACCES) return directory;
    const Fd closed = open_beneath(root_, at, O_PATH | O_DIRECTORY);
    struct stat info{};
    if (!closed || ::fstat(closed.get(), &info) != 0 || info.st_uid != ::geteuid()) return {};
    const std::string path = "/proc/self/fd/" + std::to_string(closed.get());
    if (::chmod(path.c_str(), (info.st_mode & 07777) | S_IRWXU) != 0) return {};
    found_.opened.push_back({at, info.st_mode & 07777});
    return open_beneath(root_, at, O_RDONLY | O_DIRECTORY);
  }

  void enter(const Place& from, const Entry& entry, const fs::path& at, bool of_git) {
    const bool in_git = from.in_git || is_git_name(entry.name);
    // Only where nothing but git itself has anything: a name alone is easily given.
    if (in_git && of_git && (entry.name == "objects" || entry.name == "logs")) return;
    if (!in_git && is_skipped_directory(entry.name)) return;
    if (from.depth + 1 > bounds_.depth) {
      found_.whole = false;
      return;
    }
    ahead_.push_back({at, from.depth + 1, in_git});
  }

  bool is_secret(const Fd& directory, const std::string& name) {
    const SecretCheck check = secret_check(name);
    if (check == SecretCheck::none) return false;
    const Fd file(
        ::openat(directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat info{};
    if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
      return false;
    if (check == SecretCheck::not_empty) return true;
    const auto size = static_cast<std::size_t>(info.st_size);
    if (check == SecretCheck::key_in_json && size > kLargestKeyInJson) return false;
    const std::size_t most = std::min(size, bounds_.each_file);
    if (most > bytes_left_) {
      found_.whole = false;
      return false;
    }
    bytes_left_ -= most;
    std::string bytes(most, '\0');
    const ssize_t n = ::read(file.get(), bytes.data(), bytes.size());
    bytes.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return holds_secret(check, bytes);
  }

  // ".env" is often a link to a file whose own name says nothing.
  void follow_secret(const fs::path& link, SecretCheck check) {
    if (check == SecretCheck::none) return;
    std::error_code error;
    const fs::path real = fs::canonical(path_ / link, error);
    if (error || !below(real, path_)) return;
    const fs::path at = real.lexically_relative(path_);
    const auto bytes = read_beneath(root_, at, std::min(bounds_.each_file, bytes_left_));
    if (!bytes) return;
    bytes_left_ -= bytes->size();
    if (holds_secret(check, *bytes)) found_.secrets.push_back(at);
  }

  const Fd& root_;
  const fs::path& path_;
  LookFor what_;
  const std::vector<fs::path>& leave_out_;
  const WalkBounds& bounds_;
  std::size_t entries_left_;
  std::size_t bytes_left_;
  std::deque<Place> ahead_;
  TreeFindings found_;
};

}  // namespace

TreeFindings look_through(const Fd& root, const fs::path& path, LookFor what,
                          const std::vector<fs::path>& leave_out, const WalkBounds& bounds) {
  return Walk(root, path, what, leave_out, bounds).run();
}

void close_again(const Fd& root, TreeFindings& found) {
  // What lies deeper was opened later.
  for (; !found.opened.empty(); found.opened.pop_back()) {
    const auto& [at, mode] = found.opened.back();
    if (const Fd directory = open_beneath(root, at, O_PATH | O_DIRECTORY))
      (void)::chmod(("/proc/self/fd/" + std::to_string(directory.get())).c_str(), mode);
  }
}

std::optional<FileIdentity> identity_beneath(const Fd& root, const fs::path& relative) {
  const Fd parent = open_beneath(root, relative.parent_path(), O_PATH | O_DIRECTORY);
  struct statx info{};
  if (!parent || ::statx(parent.get(), relative.filename().c_str(), AT_SYMLINK_NOFOLLOW,
                         STATX_INO | STATX_BTIME, &info) != 0)
    return std::nullopt;
  const bool known = (info.stx_mask & STATX_BTIME) != 0;
  return FileIdentity{makedev(info.stx_dev_major, info.stx_dev_minor), info.stx_ino,
                      known ? info.stx_btime.tv_sec * 1'000'000'000 + info.stx_btime.tv_nsec : 0};
}

NamesFound names_of(const Fd& root, const std::vector<FileIdentity>& files,
                    std::size_t most_entries) {
  NamesFound found;
  std::deque<fs::path> ahead{{}};
  while (!ahead.empty()) {
    const fs::path at = std::move(ahead.front());
    ahead.pop_front();
    const Fd directory = open_beneath(root, at, O_RDONLY | O_DIRECTORY);
    if (!directory) continue;
    std::vector<Entry> entries;
    if (!read_entries(directory, entries, most_entries)) found.whole = false;
    for (const Entry& entry : entries) {
      if (entry.type == DT_DIR) ahead.push_back(at / entry.name);
      // readdir's own inode number is another one on some file systems (overlay).
      if (entry.type != DT_REG) continue;
      struct stat info{};
      if (::fstatat(directory.get(), entry.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      const FileIdentity identity{info.st_dev, info.st_ino};
      if (std::find(files.begin(), files.end(), identity) != files.end())
        found.names.push_back(at / entry.name);
    }
  }
  return found;
}

}  // namespace warder
