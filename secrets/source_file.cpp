#include "secrets/source_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/fd.hpp"
#include "secrets/file_stamp.hpp"
#include "secrets/placeholder.hpp"

namespace warder {
namespace {

class FileSource final : public SecretSource {
 public:
  explicit FileSource(std::filesystem::path path) : path_(std::move(path)) {}

  Reading read(std::stop_token) override {
    // Non-blocking, so that opening a FIFO cannot hang before it is refused.
    const Fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd) return not_opened(errno);
    struct stat status{};
    if (::fstat(fd.get(), &status) != 0) return failed("examined", errno);
    if (!S_ISREG(status.st_mode)) return Reading::failed(name() + " is not a regular file");
    taken_ = FileStamp::of(fd.get());
    // Room for a line break and for one byte too many, which shows a file that is too long.
    WipedBytes bytes(kMaxSecretBytes + 3);
    if (const int error = read_up_to(fd.get(), bytes)) return failed("read", error);
    // It was written to while it was read: what there is may be half of each.
    if (!(FileStamp::of(fd.get()) == taken_)) taken_ = {};
    return checked_value(without_line_break(as_view(bytes)), name());
  }

  bool looks_changed() override {
    const FileStamp now = FileStamp::of(path_);
    const bool is_still = now == seen_;
    seen_ = now;
    return is_still && !(now == taken_);
  }

 private:
  std::string name() const { return "the secret file " + path_.string(); }
  Reading failed(std::string_view what, int error) const {
    return Reading::failed(name() + " cannot be " + std::string(what) + ": " +
                           std::generic_category().message(error));
  }
  Reading not_opened(int error) {
    taken_ = {};
    taken_.error = error;
    Reading reading = failed("opened", error);
    // What is only not readable now is not taken away.
    if (error == ENOENT || error == ENOTDIR) {
      reading.state = Reading::State::gone;
      reading.grace = kFileGrace;
    }
    return reading;
  }

  const std::filesystem::path path_;
  FileStamp taken_;  // at the last read()
  FileStamp seen_;   // at the last look
};

}  // namespace

int read_up_to(int fd, WipedBytes& bytes) {
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

std::unique_ptr<SecretSource> file_source(std::filesystem::path path) {
  return std::make_unique<FileSource>(std::move(path));
}

}  // namespace warder
