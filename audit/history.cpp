#include "audit/history.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "audit/walk.hpp"

namespace warder::audit {
namespace {

namespace fs = std::filesystem;

// Regular files only: a pipe of that name must not make a gateway wait.
Fd open_regular(const fs::path& file) {
  Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  return fd;
}

bool has_header(const fs::path& file) {
  const Fd fd = open_regular(file);
  if (!fd) return false;
  LineReader reader(fd.get());
  const RawLine* raw = reader.next();
  if (raw == nullptr) return false;
  const auto line = ParsedLine::parse(raw->bytes);
  return line && line->type == "log";
}

std::vector<fs::path> by_age(const fs::path& directory) {
  std::vector<std::tuple<fs::file_time_type, fs::path>> entries;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".jsonl") continue;
    std::error_code gone;
    const auto changed = fs::last_write_time(at->path(), gone);
    if (!gone) entries.emplace_back(changed, at->path());
  }
  std::sort(entries.begin(), entries.end());
  std::vector<fs::path> files;
  files.reserve(entries.size());
  for (auto& entry : entries) files.push_back(std::move(std::get<fs::path>(entry)));
  return files;
}

// The last checkpoint among the lines that start at `offset` or later (the first may be half a
// line).
std::optional<Checkpoint> last_checkpoint_from(int fd, off_t offset) {
  if (::lseek(fd, offset, SEEK_SET) < 0) return std::nullopt;
  LineReader reader(fd);
  std::optional<Checkpoint> last;
  while (const RawLine* raw = reader.next()) {
    if (raw->bytes.find("\"type\":\"checkpoint\"") == std::string::npos) continue;
    const auto line = ParsedLine::parse(raw->bytes);
    if (!line || line->type != "checkpoint") continue;
    if (const auto note = SignedNote::parse(line->text("note"))) last = note->checkpoint;
  }
  return last;
}

Checkpoint last_checkpoint_in(const fs::path& file) {
  Checkpoint nothing;
  nothing.root = Tree().root();
  const Fd fd = open_regular(file);
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0) return nothing;
  // At most kCheckpointEvery short records lie behind it, so the tail nearly always holds one.
  constexpr off_t kTail = 1024 * 1024;
  if (info.st_size > kTail) {
    if (const auto last = last_checkpoint_from(fd.get(), info.st_size - kTail)) return *last;
  }
  return last_checkpoint_from(fd.get(), 0).value_or(nothing);
}

}  // namespace

std::vector<fs::path> audit_files(const fs::path& directory) {
  std::vector<fs::path> files = by_age(directory);
  std::erase_if(files, [](const fs::path& file) { return !has_header(file); });
  return files;
}

std::string last_checkpoint_of(const fs::path& directory, const fs::path& except) {
  const std::vector<fs::path> files = by_age(directory);
  const auto newest = std::find_if(files.rbegin(), files.rend(), [&](const fs::path& file) {
    return file.filename() != except.filename() && has_header(file);
  });
  if (newest == files.rend()) return {};
  const Checkpoint last = last_checkpoint_in(*newest);
  return newest->filename().string() + " " + std::to_string(last.size) + " " + to_base64(last.root);
}

std::optional<PreviousRun> PreviousRun::parse(std::string_view text) {
  const std::size_t second = text.rfind(' ');
  if (second == std::string_view::npos || second == 0) return std::nullopt;
  const std::size_t first = text.rfind(' ', second - 1);
  if (first == std::string_view::npos) return std::nullopt;
  PreviousRun run;
  run.file = text.substr(0, first);
  const std::string_view size = text.substr(first + 1, second - first - 1);
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), run.size);
  const auto root = digest_from_base64(text.substr(second + 1));
  if (error != std::errc{} || end != size.data() + size.size() || !root) return std::nullopt;
  run.root = *root;
  return run;
}

}  // namespace warder::audit
