#include "audit/key_file.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "base/encoding.hpp"
#include "base/fd.hpp"
#include "base/random.hpp"

namespace warder::audit {
namespace {

using Seed = std::array<std::uint8_t, 32>;

// Wiped at the end of its life.
template <class Bytes>
struct Wiped {
  Bytes bytes{};
  Wiped() = default;
  Wiped(const Wiped&) = delete;
  Wiped& operator=(const Wiped&) = delete;
  ~Wiped() { sodium_memzero(bytes.data(), bytes.size()); }
};

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& why) {
  throw std::runtime_error("audit key " + file.string() + ": " + why);
}

std::string reason(int error) { return std::strerror(error); }

std::filesystem::path directory_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

void check_private(const std::filesystem::path& file, int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) fail(file, reason(errno));
  if (!S_ISREG(info.st_mode)) fail(file, "is not a regular file");
  if (info.st_uid != ::geteuid()) {
    fail(file, "belongs to uid " + std::to_string(info.st_uid) + ", not to uid " +
                   std::to_string(::geteuid()) + " who runs this");
  }
  if ((info.st_mode & 077) != 0) {
    fail(file, "others may read it; chmod 600 it, or remove it so that a new one is made");
  }
}

void parse_seed(const std::filesystem::path& file, std::string_view text, Seed& seed) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::size_t length = 0;
  const bool hex = text.size() == 64 &&
                   sodium_hex2bin(seed.data(), seed.size(), text.data(), text.size(), nullptr,
                                  &length, nullptr) == 0 &&
                   length == seed.size();
  if (hex) return;
  const bool base64 = text.size() == 44 &&
                      sodium_base642bin(seed.data(), seed.size(), text.data(), text.size(), nullptr,
                                        &length, nullptr, sodium_base64_VARIANT_ORIGINAL) == 0 &&
                      length == seed.size();
  if (!base64) fail(file, "is not a seed of 32 bytes in hex or base64");
}

// A whole file under a name of its own first, so that nobody ever reads half a key.
void make_key(const std::filesystem::path& file) {
  make_private_directory(directory_of(file));
  SystemRandom random;
  std::array<std::uint8_t, 8> tag{};
  random.fill(tag);
  const std::filesystem::path draft = file.string() + ".new-" + hex_encode(tag);
  const Fd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) fail(file, "cannot be made: " + reason(errno));
  Wiped<Seed> seed;
  random.fill(seed.bytes);
  Wiped<std::array<char, 65>> text;
  sodium_bin2hex(text.bytes.data(), text.bytes.size(), seed.bytes.data(), seed.bytes.size());
  text.bytes.back() = '\n';
  const bool written = ::write(fd.get(), text.bytes.data(), text.bytes.size()) ==
                           static_cast<ssize_t>(text.bytes.size()) &&
                       ::fsync(fd.get()) == 0;
  const int write_error = errno;
  const bool linked = written && ::link(draft.c_str(), file.c_str()) == 0;
  const int link_error = errno;
  ::unlink(draft.c_str());
  if (!written) fail(file, "cannot be written: " + reason(write_error));
  if (!linked && link_error != EEXIST) fail(file, "cannot be made: " + reason(link_error));
  sync_directory(directory_of(file));
}

}  // namespace

SigningKey read_key(const std::filesystem::path& file) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && errno == ELOOP) fail(file, "is a symbolic link; name the file itself");
  if (!fd) fail(file, reason(errno));
  check_private(file, fd.get());
  Wiped<std::array<char, 128>> text;
  const ssize_t n = ::read(fd.get(), text.bytes.data(), text.bytes.size());
  if (n < 0) fail(file, reason(errno));
  Wiped<Seed> seed;
  parse_seed(file, {text.bytes.data(), static_cast<std::size_t>(n)}, seed.bytes);
  return SigningKey(seed.bytes);
}

SigningKey read_or_make_key(const std::filesystem::path& file) {
  struct stat info{};
  if (::lstat(file.c_str(), &info) != 0 && errno == ENOENT) make_key(file);
  return read_key(file);
}

void make_private_directory(const std::filesystem::path& directory) {
  if (directory.empty() || std::filesystem::is_directory(directory)) return;
  make_private_directory(directory.parent_path());
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    throw std::runtime_error("directory " + directory.string() +
                             " cannot be made: " + reason(errno));
  }
}

void sync_directory(const std::filesystem::path& directory) {
  const Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) {
    throw std::runtime_error("directory " + directory.string() +
                             " cannot be synced: " + reason(errno));
  }
}

}  // namespace warder::audit
