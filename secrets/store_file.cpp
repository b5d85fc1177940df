#include "secrets/store_file.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "secrets/sealed_store.hpp"
#include "secrets/source.hpp"
#include "secrets/source_file.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostKeyText = 128;

[[noreturn]] void fail(const std::string& what, const fs::path& file, const std::string& why) {
  throw std::runtime_error("the " + what + " " + file.string() + " " + why);
}
std::string words_of(int error) { return std::generic_category().message(error); }

fs::path beside(const fs::path& file, const char* ending) { return file.string() + ending; }

fs::path directory_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

void make_directory(const fs::path& directory) {
  if (directory.empty() || fs::is_directory(directory)) return;
  make_directory(directory.parent_path());
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    fail("directory", directory, "cannot be made: " + words_of(errno));
}

void sync_directory(const fs::path& directory) {
  const Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0)
    fail("directory", directory, "cannot be synced: " + words_of(errno));
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// A whole file of that content, on the disk. What a writer that was killed left there is removed first.
void write_draft(const fs::path& draft, std::string_view bytes, const std::string& what) {
  if (::unlink(draft.c_str()) != 0 && errno != ENOENT)
    fail(what, draft, "cannot be replaced: " + words_of(errno));
  const Fd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) fail(what, draft, "cannot be made: " + words_of(errno));
  if (write_all(fd.get(), bytes) && ::fsync(fd.get()) == 0) return;
  const int error = errno;
  ::unlink(draft.c_str());
  fail(what, draft, "cannot be written: " + words_of(error));
}

}  // namespace

std::optional<StoreBytes> read_store_file(const fs::path& file) {
  static const std::string kWhat = "secret store";
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd) fail(kWhat, file, "cannot be opened: " + words_of(errno));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) fail(kWhat, file, "cannot be examined: " + words_of(errno));
  if (!S_ISREG(status.st_mode)) fail(kWhat, file, "is not a regular file");
  StoreBytes read{{}, FileStamp::of(fd.get())};
  if (static_cast<std::uint64_t>(status.st_size) > kMostStoreBytes)
    fail(kWhat, file, "is larger than a store can be");
  WipedBytes bytes(static_cast<std::size_t>(status.st_size));
  if (const int error = read_up_to(fd.get(), bytes))
    fail(kWhat, file, "cannot be read: " + words_of(error));
  read.bytes.assign(bytes.begin(), bytes.end());
  return read;
}

StoreLock::StoreLock(const fs::path& file, std::chrono::milliseconds limit) {
  make_directory(directory_of(file));
  const fs::path lock = beside(file, ".lock");
  fd_ = Fd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd_) fail("lock", lock, "cannot be opened: " + words_of(errno));
  const auto end = std::chrono::steady_clock::now() + limit;
  while (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      fail("lock", lock, "cannot be taken: " + words_of(errno));
    if (std::chrono::steady_clock::now() > end)
      fail("secret store", file, "is being changed by another warder: try again");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void replace_store_file(const fs::path& file, std::string_view bytes) {
  const fs::path draft = beside(file, ".new");
  write_draft(draft, bytes, "secret store");
  if (::rename(draft.c_str(), file.c_str()) != 0)
    fail("secret store", file, "cannot be replaced: " + words_of(errno));
  sync_directory(directory_of(file));
}

std::optional<WipedBytes> store_key_of(std::string_view text) {
  if (text.size() == kStoreKeyBytes) return WipedBytes(text.begin(), text.end());
  text = without_line_break(text);
  WipedBytes key(kStoreKeyBytes);
  std::size_t length = 0;
  const bool hex = text.size() == 2 * kStoreKeyBytes &&
                   sodium_hex2bin(reinterpret_cast<std::uint8_t*>(key.data()), key.size(),
                                  text.data(), text.size(), nullptr, &length, nullptr) == 0 &&
                   length == key.size();
  if (!hex) return std::nullopt;
  return key;
}

WipedBytes read_store_key(const fs::path& file) {
  static const std::string kWhat = "secret store's key";
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd && errno == ELOOP) fail(kWhat, file, "is a symbolic link: name the file itself");
  if (!fd) fail(kWhat, file, "cannot be opened: " + words_of(errno));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) fail(kWhat, file, "cannot be examined: " + words_of(errno));
  if (!S_ISREG(status.st_mode)) fail(kWhat, file, "is not a regular file");
  if (status.st_uid != ::geteuid()) {
    fail(kWhat, file,
         "belongs to uid " + std::to_string(status.st_uid) + ", not to uid " +
             std::to_string(::geteuid()) + " who runs this");
  }
  if ((status.st_mode & 077) != 0)
    fail(kWhat, file,
         "can be read or written by others: chmod 600 it, and rotate what is in the store");
  WipedBytes text(kMostKeyText);
  if (const int error = read_up_to(fd.get(), text))
    fail(kWhat, file, "cannot be read: " + words_of(error));
  auto key = store_key_of(as_view(text));
  if (!key) fail(kWhat, file, "is not 32 bytes in hex");
  return std::move(*key);
}

void make_store_key(const fs::path& file, Random& random) {
  static const std::string kWhat = "secret store's key";
  struct stat status{};
  if (::lstat(file.c_str(), &status) == 0) return;
  make_directory(directory_of(file));
  WipedBytes key(kStoreKeyBytes);
  random.fill({reinterpret_cast<std::uint8_t*>(key.data()), key.size()});
  WipedBytes text(2 * kStoreKeyBytes + 1);
  sodium_bin2hex(text.data(), text.size(), reinterpret_cast<const std::uint8_t*>(key.data()),
                 key.size());
  text.back() = '\n';
  // Under a name of its own first, so that nobody ever reads half a key; linked, so that none is replaced.
  const fs::path draft = beside(file, ".new");
  write_draft(draft, as_view(text), kWhat);
  const bool linked = ::link(draft.c_str(), file.c_str()) == 0;
  const int error = errno;
  ::unlink(draft.c_str());
  if (!linked && error != EEXIST) fail(kWhat, file, "cannot be made: " + words_of(error));
  sync_directory(directory_of(file));
}

}  // namespace warder
