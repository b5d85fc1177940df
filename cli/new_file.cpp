#include "cli/new_file.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/encoding.hpp"
#include "base/random.hpp"
#include "cli/guard.hpp"

namespace warder {
namespace {

std::string last_error() { return std::generic_category().message(errno); }

}  // namespace

NewFile::NewFile(const std::filesystem::path& file, bool over)
    : shown_(file.string()), base_(file.filename().string()), over_(over) {
  if (base_.empty() || base_ == "." || base_ == "..")
    throw ConfigError("--out " + shown_ + " names no file");
  const auto parent = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  directory_ = Fd(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory_) throw ConfigError("--out " + shown_ + ": " + last_error());
  struct stat info{};
  const bool is_there = ::fstatat(directory_.get(), base_.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && !over_)
    throw ConfigError("--out " + shown_ + " is there already: name another, or say --force");
}

void NewFile::write(const std::string& bytes) {
  const auto fail = [&](const char* what) {
    throw RunRefused("--out " + shown_ + ": " + what + ": " + last_error() +
                         "; the records are there still: warder learn --from FILE",
                     125);
  };
  std::array<std::uint8_t, 8> random{};
  SystemRandom().fill(random);
  const std::string beside = "." + base_.substr(0, 100) + "." + hex_encode(random);
  const Fd fd(::openat(directory_.get(), beside.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd) fail("cannot be made");
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  const unsigned how = over_ ? 0 : RENAME_NOREPLACE;
  const bool whole = done == bytes.size() && ::fsync(fd.get()) == 0;
  if (whole &&
      ::renameat2(directory_.get(), beside.c_str(), directory_.get(), base_.c_str(), how) == 0)
    return;
  const int error = errno;
  ::unlinkat(directory_.get(), beside.c_str(), 0);
  errno = error;
  fail(whole ? "cannot be put in its place" : "cannot be written");
}

}  // namespace warder
