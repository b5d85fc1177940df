#include "secrets/sources.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/fd.hpp"
#include "secrets/placeholder.hpp"
#include "secrets/wiped.hpp"

namespace warder {
namespace {

std::string failed(const std::filesystem::path& path, std::string_view what, int error) {
  return "the secret file " + path.string() + " cannot be " + std::string(what) + ": " +
         std::generic_category().message(error);
}

SourceResult checked(std::string_view value, const std::string& source) {
  if (auto why = refuse_value(value)) return "the value of " + source + " " + *why;
  return SecretValue(value);
}

// Up to `bytes.size()` bytes; shrinks it to what was read. Returns an errno.
int read_all(int fd, WipedBytes& bytes) {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t n = ::read(fd, bytes.data() + filled, bytes.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  bytes.resize(filled);
  return 0;
}

}  // namespace

SourceResult from_file(const std::filesystem::path& path) {
  // Non-blocking, so that opening a FIFO cannot hang before it is refused.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return failed(path, "opened", errno);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return failed(path, "examined", errno);
  if (!S_ISREG(status.st_mode)) {
    return "the secret file " + path.string() + " is not a regular file";
  }
  // Room for a line break and for one byte too many, which shows a file that is too long.
  WipedBytes bytes(kMaxSecretBytes + 3);
  if (const int error = read_all(fd.get(), bytes)) return failed(path, "read", error);
  std::string_view value = as_view(bytes);
  if (value.ends_with('\n')) value.remove_suffix(value.ends_with("\r\n") ? 2 : 1);
  return checked(value, "the secret file " + path.string());
}

SourceResult from_env(std::string_view name, std::string_view value) {
  return checked(value, "the environment variable " + std::string(name));
}

}  // namespace warder
