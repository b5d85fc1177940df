#include "cli/text_diff.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>

#include "cli/terminal_text.hpp"

namespace warder {
namespace {

constexpr const char* kDiff = "/usr/bin/diff";
constexpr std::size_t kLooked = 64 * 1024;  // for a byte that no text has

// Passes whole lines on, each made printable; the first byte is diff's or ours.
class Lines {
 public:
  explicit Lines(const Line& line) : line_(line) {}
  void take(std::string_view piece) {
    while (!piece.empty()) {
      const std::size_t end = piece.find('\n');
      held_ += piece.substr(0, end);
      if (end == std::string_view::npos) return;
      flush();
      piece.remove_prefix(end + 1);
    }
  }
  void flush() {
    line_(printable_line(held_));
    held_.clear();
  }
  bool empty() const { return held_.empty(); }

 private:
  const Line& line_;
  std::string held_;
};

std::size_t read_some(const Fd& from, std::array<char, 65536>& into) {
  for (;;) {
    const ssize_t n = ::read(from.get(), into.data(), into.size());
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR) throw std::runtime_error("a file of the clone cannot be read");
  }
}

Fd start_diff(const Fd& before, const Fd& after, pid_t& pid) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
  Fd out(ends[0]);
  const Fd in(ends[1]);
  // Away from the numbers that they get, or one would take another's.
  const Fd one(::fcntl(before.get(), F_DUPFD_CLOEXEC, 10));
  const Fd other(::fcntl(after.get(), F_DUPFD_CLOEXEC, 10));
  const Fd said(::fcntl(in.get(), F_DUPFD_CLOEXEC, 10));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, said.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, one.get(), 3);
  ::posix_spawn_file_actions_adddup2(&actions, other.get(), 4);
  char name[] = "diff", how[] = "-au", label[] = "--label=x", left[] = "/dev/fd/3",
       right[] = "/dev/fd/4", language[] = "LC_ALL=C";
  char second_label[] = "--label=y";
  char* const argv[] = {name, how, label, second_label, left, right, nullptr};
  char* const env[] = {language, nullptr};
  const int failed = ::posix_spawn(&pid, kDiff, &actions, nullptr, argv, env);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    throw std::runtime_error("cannot execute /usr/bin/diff: install the package diffutils");
  return out;
}

}  // namespace

Showable showable(const Fd& file) {
  struct stat what{};
  if (::fstat(file.get(), &what) != 0) return Showable::binary;
  if (static_cast<std::size_t>(what.st_size) > kMostShown) return Showable::too_large;
  std::array<char, kLooked> start{};
  const ssize_t n = ::pread(file.get(), start.data(), start.size(), 0);
  const auto end = start.begin() + std::max<ssize_t>(n, 0);
  return n < 0 || std::find(start.begin(), end, '\0') != end ? Showable::binary : Showable::text;
}

void all_lines(const Fd& file, char mark, const Line& line) {
  const Line marked = [&](const std::string& text) { line(mark + text); };
  Lines lines(marked);
  std::array<char, 65536> piece{};
  char last = '\n';
  while (const std::size_t n = read_some(file, piece)) {
    lines.take({piece.data(), n});
    last = piece[n - 1];
  }
  if (last == '\n') return;
  lines.flush();
  line("\\ No newline at end of file");
}

void differing_lines(const Fd& before, const Fd& after, const Line& line) {
  pid_t pid = -1;
  const Fd out = start_diff(before, after, pid);
  int header = 2;
  const Line without_header = [&](const std::string& text) {
    if (header-- <= 0) line(text);
  };
  Lines lines(without_header);
  std::array<char, 65536> piece{};
  while (const std::size_t n = read_some(out, piece)) lines.take({piece.data(), n});
  if (!lines.empty()) lines.flush();
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
    throw std::runtime_error("diff could not compare two files");
}

}  // namespace warder
