#include "sandbox-launcher/tree_usage.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "base/fd.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

constexpr std::array kOwn{"/tmp", "/var/tmp", "/dev/shm", "/home/sandbox", "/run"};
constexpr std::uint64_t kBlock = 512;  // st_blocks'
constexpr int kDeepest = 200;
constexpr std::uint64_t kTooDeep = 1ULL << 60;

std::string read_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t n = 0; file && (n = ::read(file.get(), piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(n));
  return text;
}

using Directory = std::unique_ptr<DIR, decltype(&::closedir)>;

// Names in a directory, without "." and "..".
std::vector<std::string> names_in(DIR* directory) {
  std::vector<std::string> names;
  while (const dirent* entry = directory == nullptr ? nullptr : ::readdir(directory)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

std::vector<std::string> names_in(const std::string& path) {
  const Directory directory(::opendir(path.c_str()), ::closedir);
  return names_in(directory.get());
}

std::string proc(pid_t process, const char* name) {
  return "/proc/" + std::to_string(process) + "/" + name;
}

// The kilobytes behind `key` ("Pss_Anon:"), as bytes.
std::uint64_t kilobytes(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 10) << 10;
  }
  return 0;
}

std::uint64_t roughly(pid_t process) {
  const std::string status = read_file(proc(process, "status"));
  return kilobytes(status, "RssAnon:") + kilobytes(status, "RssShmem:") +
         kilobytes(status, "VmSwap:");
}

std::uint64_t exactly(pid_t process) {
  const std::string rollup = read_file(proc(process, "smaps_rollup"));
  // It cannot be read: what is certainly not too little counts.
  if (rollup.empty()) return roughly(process);
  return kilobytes(rollup, "Pss_Anon:") + kilobytes(rollup, "Pss_Shmem:") +
         kilobytes(rollup, "SwapPss:");
}

// Files of memory that processes hold open, each once.
class MemoryFiles {
 public:
  void add(pid_t process) {
    const std::string directory = proc(process, "fd");
    for (const std::string& name : names_in(directory)) look(directory + "/" + name);
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void look(const std::string& link) {
    std::array<char, 16> target{};
    const ssize_t n = ::readlink(link.c_str(), target.data(), target.size());
    const std::string_view seen(target.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
    if (!seen.starts_with("/memfd:")) return;
    struct stat what{};
    if (::stat(link.c_str(), &what) != 0 || !S_ISREG(what.st_mode)) return;
    if (seen_.emplace(what.st_dev, what.st_ino).second)
      bytes_ += static_cast<std::uint64_t>(what.st_blocks) * kBlock;
  }
  std::set<std::pair<dev_t, ino_t>> seen_;
  std::uint64_t bytes_ = 0;
};

void add_below(int parent, const char* name, dev_t device, std::set<ino_t>& seen,
               std::uint64_t& bytes, int depth = 0) {
  if (depth > kDeepest) {
    bytes = kTooDeep;  // nobody hides anything below what is looked at
    return;
  }
  const int fd = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  const Directory directory(::fdopendir(fd), ::closedir);
  for (const std::string& each : names_in(directory.get())) {
    struct stat what{};
    if (::fstatat(fd, each.c_str(), &what, AT_SYMLINK_NOFOLLOW) != 0 || what.st_dev != device)
      continue;
    if (what.st_nlink > 1 && !S_ISDIR(what.st_mode) && !seen.insert(what.st_ino).second) continue;
    bytes += static_cast<std::uint64_t>(what.st_blocks) * kBlock;
    if (S_ISDIR(what.st_mode)) add_below(fd, each.c_str(), device, seen, bytes, depth + 1);
    if (bytes >= kTooDeep) return;
  }
}

}  // namespace

std::vector<pid_t> tree_of(pid_t first) {
  std::vector<pid_t> tree{first};
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const std::string tasks = proc(tree[i], "task");
    for (const std::string& task : names_in(tasks)) {
      std::istringstream children(read_file(tasks + "/" + task + "/children"));
      for (pid_t child = 0; children >> child;) tree.push_back(child);
    }
  }
  return tree;
}

bool knows_children() { return ::access("/proc/thread-self/children", R_OK) == 0; }

std::uint64_t memory_of(const std::vector<pid_t>& processes, std::uint64_t enough) {
  MemoryFiles files;
  std::uint64_t sum = 0;
  for (const pid_t process : processes) {
    files.add(process);
    sum += roughly(process);
  }
  if (sum + files.bytes() <= enough) return sum + files.bytes();
  sum = files.bytes();
  for (const pid_t process : processes) sum += exactly(process);
  return sum;
}

std::optional<std::uint64_t> own_files_of(pid_t init) {
  std::uint64_t bytes = 0;
  for (const char* own : kOwn) {
    struct statvfs what{};
    const std::string path = proc(init, "root") + own;
    if (::statvfs(path.c_str(), &what) != 0) {
      // Nobody is let into one that is ending: it has no memory any more.
      const bool refused = errno == EACCES || errno == EPERM;
      if (refused && !read_file(proc(init, "statm")).starts_with("0 ")) return std::nullopt;
    } else {
      bytes += static_cast<std::uint64_t>(what.f_blocks - what.f_bfree) * what.f_frsize;
    }
  }
  return bytes;
}

std::uint64_t bytes_below(const fs::path& directory) {
  struct stat top{};
  if (::lstat(directory.c_str(), &top) != 0) return 0;
  std::set<ino_t> seen;
  std::uint64_t bytes = static_cast<std::uint64_t>(top.st_blocks) * kBlock;
  add_below(AT_FDCWD, directory.c_str(), top.st_dev, seen, bytes);
  return bytes;
}

}  // namespace warder
