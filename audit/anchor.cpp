#include "audit/anchor.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "audit/walk.hpp"

namespace warder::audit {

Fd open_for_reading(const std::filesystem::path& file, std::string& why) {
  Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    why = file.string() + ": " + std::strerror(errno);
    return {};
  }
  if (!S_ISREG(info.st_mode)) {
    why = file.string() + ": is not a regular file";
    return {};
  }
  return fd;
}

std::optional<SignedNote> read_anchor(const std::filesystem::path& file, std::string& why) {
  const Fd fd = open_for_reading(file, why);
  if (!fd) return std::nullopt;
  LineReader reader(fd.get());
  std::string text;
  std::optional<SignedNote> last;
  while (const RawLine* raw = reader.next()) {
    if (text.size() < kMaxRecordBytes) text += raw->bytes + "\n";
    if (!raw->bytes.starts_with('{')) continue;
    const auto line = ParsedLine::parse(raw->bytes);
    if (!line || line->type != "checkpoint") continue;
    if (auto note = SignedNote::parse(line->text("note"))) last = std::move(note);
  }
  if (!last) last = SignedNote::parse(text);
  if (!last) why = file.string() + ": holds no checkpoint";
  return last;
}

}  // namespace warder::audit
