#include "sandbox-launcher/exec_memory.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <optional>

#include "base/fd.hpp"

namespace warder {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint32_t kMostCounted = 65'536;  // pointers of an argv that are looked at

std::size_t peek(pid_t process, std::uint64_t from, void* into, std::size_t size) {
  const iovec here{into, size};
  const iovec there{reinterpret_cast<void*>(from), size};
  const ssize_t n = ::process_vm_readv(process, &here, 1, &there, 1, 0);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

// At most `most` bytes of the string there. Page by page: the one behind it may not be there.
std::optional<std::string> peek_string(pid_t process, std::uint64_t from, std::size_t most) {
  std::string text;
  std::array<char, kPage> piece{};
  while (text.size() < most) {
    const std::uint64_t to_page_end = kPage - from % kPage;
    const std::size_t want = std::min<std::uint64_t>(to_page_end, most - text.size());
    const std::size_t n = peek(process, from, piece.data(), want);
    if (n == 0) return std::nullopt;
    const std::size_t length = ::strnlen(piece.data(), n);
    text.append(piece.data(), length);
    if (length < n) return text;
    from += n;
  }
  return text;
}

std::string link_of(const std::string& path) {
  std::array<char, kMostPathBytes> text{};
  const ssize_t n = ::readlink(path.c_str(), text.data(), text.size());
  return n > 0 ? std::string(text.data(), static_cast<std::size_t>(n)) : std::string();
}

std::string proc_path(pid_t process, const std::string& name) {
  return "/proc/" + std::to_string(process) + "/" + name;
}

std::uint32_t number_in(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  std::uint32_t value = 0;
  if (at == std::string_view::npos) return 0;
  const char* const begin = text.data() + at + key.size();
  std::from_chars(begin, text.data() + text.size(), value);
  return value;
}

// A thread that executes something takes the place of its whole process.
void read_status(pid_t thread, ExecBegun& into) {
  into.pid = static_cast<std::uint32_t>(thread);
  const Fd file(::open(proc_path(thread, "status").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  const ssize_t n = file ? ::read(file.get(), text.data(), text.size()) : 0;
  if (n <= 0) return;
  const std::string_view status(text.data(), static_cast<std::size_t>(n));
  if (const std::uint32_t process = number_in(status, "\nTgid:\t")) into.pid = process;
  into.parent = number_in(status, "\nPPid:\t");
}

void read_arguments(const ExecCall& call, ExecBegun& into) {
  std::array<std::uint64_t, kPage / sizeof(std::uint64_t)> pointers{};
  std::uint64_t at = call.argv;
  std::size_t room = kMostCommandBytes;
  for (std::uint32_t seen = 0; at != 0 && seen < kMostCounted;) {
    // A pointer may lie across two pages, where nobody has aligned it.
    const std::size_t to_page_end = kPage - at % kPage;
    const std::size_t want =
        std::max(to_page_end - to_page_end % sizeof(std::uint64_t), sizeof(std::uint64_t));
    const std::size_t count = peek(call.thread, at, pointers.data(), want) / sizeof(std::uint64_t);
    if (count == 0) {
      into.unread = true;
      return;
    }
    for (std::size_t i = 0; i < count; ++i, ++seen) {
      if (pointers[i] == 0) return;
      if (into.argv.size() >= kMostArguments || room == 0 || into.left_out > 0) {
        ++into.left_out;
        continue;
      }
      auto text = peek_string(call.thread, pointers[i], std::min(room, kMostArgumentBytes));
      if (!text) {
        into.unread = true;
        return;
      }
      room -= text->size();
      into.argv.push_back(std::move(*text));
    }
    at += count * sizeof(std::uint64_t);
  }
}

void push_components(std::deque<std::string>& to_front, std::string_view path) {
  std::deque<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at) parts.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  to_front.insert(to_front.begin(), parts.begin(), parts.end());
}

bool lies_in_proc(int fd) {
  struct statfs where{};
  return ::fstatfs(fd, &where) != 0 || where.f_type == PROC_SUPER_MAGIC;
}

// Name by name, as the kernel would, up to the one that is not there.
int missing_below(Fd at, std::string_view path) {
  std::deque<std::string> rest;
  push_components(rest, path);
  for (int steps = 0; !rest.empty() && steps < 256; ++steps) {
    if (lies_in_proc(at.get())) return 0;
    const std::string name = std::move(rest.front());
    rest.pop_front();
    Fd next(::openat(at.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return errno == ENOENT || errno == ENOTDIR ? errno : 0;
    struct stat what{};
    if (::fstat(next.get(), &what) != 0) return 0;
    if (!S_ISLNK(what.st_mode)) {
      at = std::move(next);
      continue;
    }
    std::array<char, kMostPathBytes> target{};
    const ssize_t n = ::readlinkat(next.get(), "", target.data(), target.size());
    if (n <= 0 || lies_in_proc(next.get())) return 0;
    push_components(rest, {target.data(), static_cast<std::size_t>(n)});
    if (target.front() == '/') at = Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return 0;
}

}  // namespace

ExecBegun read_exec(const ExecCall& call) {
  ExecBegun begun;
  read_status(call.thread, begun);
  begun.cwd = link_of(proc_path(call.thread, "cwd"));
  auto path = peek_string(call.thread, call.path, kMostPathBytes);
  begun.unread = !path;
  if (path) begun.path = std::move(*path);
  const bool below = call.directory != AT_FDCWD && !begun.path.starts_with('/');
  if (below && path) {
    const std::string base =
        link_of(proc_path(call.thread, "fd/" + std::to_string(call.directory)));
    begun.path = begun.path.empty() ? base : base + "/" + begun.path;
    begun.path.resize(std::min(begun.path.size(), kMostPathBytes));
  }
  if (path) read_arguments(call, begun);
  return begun;
}

int certainly_missing(const ExecBegun& begun, const ExecCall& call) {
  if (begun.unread || begun.path.empty() || begun.path.size() >= kMostPathBytes) return 0;
  if (call.of_descriptor || call.directory != AT_FDCWD) return 0;
  const bool absolute = begun.path.front() == '/';
  Fd base(::open(absolute ? "/" : proc_path(call.thread, "cwd").c_str(),
                 O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!base) return 0;
  const std::string below = absolute ? begun.path.substr(1) : begun.path;
  if (::faccessat(base.get(), below.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) return 0;
  if (errno != ENOENT && errno != ENOTDIR) return 0;
  return missing_below(std::move(base), below);
}

}  // namespace warder
