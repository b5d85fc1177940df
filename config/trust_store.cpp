#include "config/trust_store.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <system_error>

#include "base/encoding.hpp"
#include "base/fd.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

constexpr std::size_t kMaxStore = 4 * 1024 * 1024;

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw std::runtime_error(path.string() + ": " + what);
}
std::string last_error() { return std::generic_category().message(errno); }

// The one name of a file. Nothing for a name that would break the line.
std::optional<std::string> name_of(const std::filesystem::path& file) {
  std::error_code error;
  std::string name = std::filesystem::canonical(file, error).string();
  if (error || name.empty() || name.find('\n') != std::string::npos) return std::nullopt;
  return name;
}

// nullopt: there is none. Throws where it is not ours alone: then anybody could have pinned
// anything.
std::optional<std::string> read_store(const std::filesystem::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd) fail(path, "cannot be opened: " + last_error());
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) fail(path, last_error());
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 022) != 0) {
    fail(path, "is not a file that only you can write: remove it and trust again");
  }
  if (static_cast<std::size_t>(info.st_size) > kMaxStore)
    fail(path, "is too large: remove it and trust again");
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t n = ::read(fd.get(), bytes.data() + size, bytes.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, "cannot be read: " + last_error());
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  bytes.resize(size);
  return bytes;
}

std::string line_of(const std::string& name, std::string_view bytes) {
  return sha256_hex(bytes) + "  " + name + '\n';
}

// The lines that are about other files.
std::string without(const std::string& store, const std::string& name) {
  std::string kept;
  for (std::size_t at = 0; at < store.size();) {
    const std::size_t end = std::min(store.find('\n', at), store.size());
    const std::string_view line = std::string_view(store).substr(at, end - at);
    at = end + 1;
    if (line.size() > 66 && line.substr(66) != name) kept.append(line).append("\n");
  }
  return kept;
}

void write_all(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, "cannot be written: " + last_error());
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void replace(const std::filesystem::path& path, std::string_view bytes) {
  std::string name = path.string() + ".XXXXXX";
  const Fd fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd) fail(name, "cannot be made: " + last_error());
  try {
    write_all(fd.get(), bytes, name);
    if (::fsync(fd.get()) != 0) fail(name, last_error());
    if (::rename(name.c_str(), path.c_str()) != 0)
      fail(path, "cannot be replaced: " + last_error());
  } catch (...) {
    ::unlink(name.c_str());
    throw;
  }
  const Fd directory(::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0) fail(path.parent_path(), last_error());
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  std::array<std::uint8_t, crypto_hash_sha256_BYTES> digest{};
  const auto view = as_bytes(bytes);
  crypto_hash_sha256(digest.data(), view.data(), view.size());
  return hex_encode(digest);
}

bool TrustStore::is_trusted(const std::filesystem::path& file, std::string_view bytes) const {
  const auto name = name_of(file);
  if (!name) return false;
  try {
    const auto store = read_store(this->file());
    if (!store) return false;
    const std::string line = line_of(*name, bytes);
    return store->starts_with(line) || store->find('\n' + line) != std::string::npos;
  } catch (const std::runtime_error&) {
    return false;
  }
}

void TrustStore::pin(const std::filesystem::path& file, std::string_view bytes) const {
  const auto name = name_of(file);
  if (!name) fail(file, "has no path that can be pinned");
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) fail(directory_, "cannot be made: " + error.message());
  if (::chmod(directory_.c_str(), 0700) != 0) fail(directory_, last_error());
  const std::string store = read_store(this->file()).value_or("");
  replace(this->file(), without(store, *name) + line_of(*name, bytes));
}

}  // namespace warder
