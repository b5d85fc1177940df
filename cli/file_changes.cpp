#include "cli/file_changes.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "base/fd.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

std::int64_t nanoseconds(const timespec& at) {
  return std::int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec;
}

// The clock that files are stamped by.
std::int64_t stamp_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return nanoseconds(now);
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

Directory open_directory(int parent, const char* name) {
  const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return nullptr;
  Directory directory(::fdopendir(fd));
  if (!directory) ::close(fd);
  return directory;
}

bool is_dots(std::string_view name) { return name == "." || name == ".."; }

}  // namespace

// Never follows a link, and ends: in depth and in number.
class TreeWalk {
 public:
  TreeWalk(const FileListing& of, std::size_t most) : of_(of), most_(most) {}

  FileListing::Tree run() {
    const Directory top = open_directory(AT_FDCWD, of_.root_.c_str());
    if (top)
      walk(top.get(), "", 0);
    else
      tree_.whole = false;
    return std::move(tree_);
  }

 private:
  void walk(DIR* directory, const std::string& below, unsigned depth) {
    while (const dirent* each = ::readdir(directory)) {
      if (is_dots(each->d_name)) continue;
      if (visited_++ >= most_) {
        tree_.whole = false;
        return;
      }
      const std::string path = below + each->d_name;
      struct stat what{};
      if (::fstatat(::dirfd(directory), each->d_name, &what, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (is_left_out(path)) continue;
      if (path == ".git/objects" && S_ISDIR(what.st_mode)) {
        count_objects(::dirfd(directory), each->d_name);
        continue;
      }
      tree_.entries[path] = {what.st_ino, static_cast<std::uint64_t>(what.st_size),
                             nanoseconds(what.st_mtim), nanoseconds(what.st_ctim), what.st_mode};
      if (S_ISDIR(what.st_mode)) descend(::dirfd(directory), each->d_name, path, depth + 1);
    }
  }

  void descend(int parent, const char* name, const std::string& path, unsigned depth) {
    const Directory inner =
        depth < FileListing::kMostDepth ? open_directory(parent, name) : nullptr;
    if (inner)
      walk(inner.get(), path + "/", depth);
    else
      tree_.whole = false;
  }

  // Two levels, of names that say nothing.
  void count_objects(int parent, const char* name) {
    const Directory objects = open_directory(parent, name);
    if (!objects) return;
    while (const dirent* each = ::readdir(objects.get())) {
      if (is_dots(each->d_name) || visited_++ >= most_) continue;
      const Directory inner = open_directory(::dirfd(objects.get()), each->d_name);
      while (const dirent* object = inner ? ::readdir(inner.get()) : nullptr) {
        if (is_dots(object->d_name) || visited_++ >= most_) continue;
        ++tree_.git_objects;
      }
    }
  }

  bool is_left_out(const std::string& path) const {
    // By its letters: a path made of each of 100,000 names is what a listing would cost most.
    const std::string_view root = of_.root_.native();
    return std::any_of(of_.left_out_.begin(), of_.left_out_.end(), [&](const fs::path& each) {
      const std::string_view whole = each.native();
      return whole.size() == root.size() + 1 + path.size() && whole.ends_with(path) &&
             whole.starts_with(root) && whole[root.size()] == '/';
    });
  }

  const FileListing& of_;
  const std::size_t most_;
  std::size_t visited_ = 0;
  FileListing::Tree tree_;
};

FileListing::FileListing(fs::path root, std::vector<fs::path> left_out)
    : root_(std::move(root)), left_out_(std::move(left_out)), began_(stamp_now()) {
  before_ = TreeWalk(*this, kMostListed).run();
}

std::string FileListing::change_of(const std::string& path, const Entry& now) const {
  const auto known = before_.entries.find(path);
  if (known == before_.entries.end()) {
    if (before_.whole) return "created";
    return now.touched >= began_ ? "changed" : "";  // or created: the listing did not come so far
  }
  const Entry& before = known->second;
  const bool is_directory = S_ISDIR(now.mode);
  if ((before.mode & S_IFMT) != (now.mode & S_IFMT)) return "changed";
  const bool same = before.inode == now.inode &&
                    (is_directory || (before.size == now.size && before.written == now.written));
  if (!same) return "changed";
  if (before.mode != now.mode) return "mode";
  return is_directory || before.touched == now.touched ? "" : "changed";
}

FileChanges FileListing::changes() const {
  const Tree after = TreeWalk(*this, kMostVisited).run();
  FileChanges out;
  out.partial = !before_.whole || !after.whole;
  out.git_objects =
      after.git_objects > before_.git_objects ? after.git_objects - before_.git_objects : 0;
  const auto add = [&out](const std::string& path, std::string change) {
    if (change.empty()) return;
    if (out.changes.size() >= kMostChanges)
      ++out.more;
    else
      out.changes.push_back({path, std::move(change)});
  };
  for (const auto& [path, now] : after.entries) add(path, change_of(path, now));
  for (const auto& [path, before] : before_.entries) {
    if (after.whole && !after.entries.contains(path)) add(path, "removed");
  }
  return out;
}

}  // namespace warder
