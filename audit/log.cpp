#include "audit/log.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "audit/file.hpp"
#include "audit/history.hpp"
#include "audit/key_file.hpp"
#include "audit/recover.hpp"
#include "audit/writer.hpp"

namespace warder::audit {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& why) {
  throw std::runtime_error("audit log " + file.string() + ": " + why);
}

std::filesystem::path directory_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

// The gateway's id becomes part of a note's first line and of file names.
void check_gateway(const LogOptions& options) {
  const auto allowed = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  const std::string& id = options.gateway;
  if (id.empty() || id.size() > 64 || !std::all_of(id.begin(), id.end(), allowed)) {
    fail(options.file, "the gateway's id must be 1 to 64 letters, digits, '-', '_' or '.'");
  }
}

struct stat state_of(const std::filesystem::path& file, int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) fail(file, std::strerror(errno));
  return info;
}

Fd open_file(const std::filesystem::path& file) {
  Fd fd(::open(file.c_str(),
               O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600));
  if (!fd && errno == ELOOP) fail(file, "is a symbolic link; name the file itself");
  if (!fd) fail(file, std::string("cannot be opened for writing: ") + std::strerror(errno));
  const struct stat info = state_of(file, fd.get());
  if (!S_ISREG(info.st_mode)) fail(file, "is not a regular file; name one, or a new one");
  if (info.st_uid != ::geteuid()) {
    fail(file, "belongs to uid " + std::to_string(info.st_uid) + ", not to who runs this");
  }
  if ((info.st_mode & 022) != 0) fail(file, "others may write to it; chmod 600 it");
  return fd;
}

// One writer per file, for as long as the file is open. A few tries, because the holder may be just
// about to end.
void lock_file(const std::filesystem::path& file, int fd) {
  for (int attempt = 0; ::flock(fd, LOCK_EX | LOCK_NB) != 0; ++attempt) {
    if (errno != EWOULDBLOCK && errno != EINTR) fail(file, std::strerror(errno));
    if (attempt < 5) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    const auto holder = lock_holder(fd);
    fail(file, "is being written by another gateway" +
                   (holder ? " (pid " + std::to_string(*holder) + ")" : std::string()) +
                   "; end that one, or name another file");
  }
}

// The locked file that has the name now: it may have been moved away while we waited.
Fd open_locked(const std::filesystem::path& file) {
  for (;;) {
    Fd fd = open_file(file);
    lock_file(file, fd.get());
    const struct stat ours = state_of(file, fd.get());
    struct stat named{};
    if (::lstat(file.c_str(), &named) == 0 && named.st_ino == ours.st_ino &&
        named.st_dev == ours.st_dev) {
      return fd;
    }
  }
}

WriterStart take_up(const LogOptions& options, int fd, const VerifierKey& key) {
  Recovered found = recover(fd, options.file, key);
  WriterStart start{options.file, std::move(found.chain), std::move(found.origin), found.size, {}};
  if (start.origin.empty()) {
    start.origin = "warder/audit/" + options.gateway;
    start.bodies.push_back(
        body_of(LogHeader{start.origin, options.gateway, key.text(),
                          last_checkpoint_of(directory_of(options.file), options.file)}));
  } else {
    start.bodies.push_back(body_of(Resume{options.gateway, found.clean}));
  }
  if (found.repair) start.bodies.push_back(body_of(*found.repair));
  return start;
}

}  // namespace

std::unique_ptr<Log> Log::open(LogOptions options, const Clock& clock) {
  check_gateway(options);
  SigningKey key = read_or_make_key(options.key_file);
  make_private_directory(directory_of(options.file));
  Fd fd = open_locked(options.file);
  WriterStart start = take_up(options, fd.get(), key.verifier());
  sync_directory(directory_of(options.file));
  return std::make_unique<Writer>(posix_file(std::move(fd)), std::move(key), std::move(start),
                                  clock);
}

}  // namespace warder::audit
