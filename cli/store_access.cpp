#include "cli/store_access.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "base/fd.hpp"
#include "cli/state.hpp"
#include "secrets/source_file.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostPassphrase = 4096;
constexpr const char* kPassphraseFile = "WARDER_STORE_PASSPHRASE_FILE";

// Off while it lives; what was typed ahead is thrown away.
class NoEcho {
 public:
  explicit NoEcho(int fd) : fd_(fd) {
    if (::tcgetattr(fd, &before_) != 0) throw std::runtime_error("the terminal cannot be set up");
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    quiet.c_lflag |= ECHONL;
    ::tcsetattr(fd, TCSAFLUSH, &quiet);
  }
  NoEcho(const NoEcho&) = delete;
  ~NoEcho() { ::tcsetattr(fd_, TCSAFLUSH, &before_); }

 private:
  const int fd_;
  termios before_{};
};

// What a file or pipe holds, read to its end.
WipedBytes content_of(const fs::path& file, const std::string& what) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  WipedBytes bytes(kMostPassphrase + 1);
  if (!fd || read_up_to(fd.get(), bytes) != 0)
    throw std::runtime_error(what + " " + file.string() + " cannot be read");
  if (bytes.size() > kMostPassphrase)
    throw std::runtime_error(what + " " + file.string() + " is too long");
  return bytes;
}

WipedBytes without_its_line_break(WipedBytes text) {
  text.resize(without_line_break(as_view(text)).size());
  if (text.empty()) throw std::runtime_error("the passphrase of the secret store is empty");
  return text;
}

std::optional<WipedBytes> passphrase_from_file() {
  const char* named = std::getenv(kPassphraseFile);
  if (named == nullptr || *named == '\0') return std::nullopt;
  return without_its_line_break(content_of(named, "the passphrase file"));
}

WipedBytes passphrase(Asking asking) {
  if (auto found = passphrase_from_file()) return std::move(*found);
  if (asking == Asking::no) {
    throw std::runtime_error(
        std::string("the secret store needs its passphrase: start again, or name "
                    "its file in ") +
        kPassphraseFile);
  }
  return without_its_line_break(ask_terminal("Passphrase of the secret store: "));
}

WipedBytes new_passphrase() {
  if (auto found = passphrase_from_file()) return std::move(*found);
  WipedBytes first = without_its_line_break(ask_terminal("New passphrase for the secret store: "));
  const WipedBytes second = ask_terminal("The same again: ");
  if (first != second) throw std::runtime_error("the two passphrases differ: nothing was written");
  return first;
}

WipedBytes derived(const WipedBytes& passphrase, const StoreHeader& header) {
  WipedBytes key;
  if (derive_store_key(as_view(passphrase), header, key)) return key;
  throw std::runtime_error(
      "there is not enough memory to open the secret store: its passphrase needs " +
      std::to_string(header.memory >> 20) + " MiB");
}

std::optional<fs::path> systemd_credential() {
  const char* directory = std::getenv("CREDENTIALS_DIRECTORY");
  if (directory == nullptr || directory[0] != '/') return std::nullopt;
  fs::path file = fs::path(directory) / "warder-store-key";
  if (!fs::exists(file)) return std::nullopt;
  return file;
}

// systemd has put it where only this service can read; its mode says less than that.
WipedBytes credential_key(const fs::path& file) {
  auto key = store_key_of(as_view(content_of(file, "the credential")));
  if (!key) throw std::runtime_error("the credential " + file.string() + " is not 32 bytes in hex");
  return std::move(*key);
}

}  // namespace

fs::path default_store_file() { return state_directory() / "secrets"; }

fs::path store_key_file(const fs::path& store) { return store.string() + ".key"; }

std::shared_ptr<StoreReader> open_store_at(const fs::path& file, Asking asking) {
  return std::make_shared<StoreReader>(file,
                                       [file, may_ask = asking](const StoreHeader& header) mutable {
                                         const Asking now = std::exchange(may_ask, Asking::no);
                                         if (header.kind == StoreHeader::Kind::passphrase)
                                           return derived(passphrase(now), header);
                                         if (const auto credential = systemd_credential())
                                           return credential_key(*credential);
                                         return read_store_key(store_key_file(file));
                                       });
}

WipedBytes key_for_new_store(const fs::path& file, const StoreHeader& header) {
  if (header.kind == StoreHeader::Kind::passphrase) return derived(new_passphrase(), header);
  if (const auto credential = systemd_credential()) return credential_key(*credential);
  SystemRandom random;
  make_store_key(store_key_file(file), random);
  return read_store_key(store_key_file(file));
}

WipedBytes ask_terminal(const std::string& prompt) {
  const Fd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC));
  if (!terminal) {
    throw std::runtime_error(
        "there is no terminal to ask on: give the value on standard input, and the passphrase of "
        "the store in the file that " +
        std::string(kPassphraseFile) + " names");
  }
  const NoEcho quiet(terminal.get());
  (void)!::write(terminal.get(), prompt.data(), prompt.size());
  // A terminal gives a line at a time.
  WipedBytes line(kMostPassphrase);
  ssize_t n = 0;
  do {
    n = ::read(terminal.get(), line.data(), line.size());
  } while (n < 0 && errno == EINTR);
  if (n <= 0) throw std::runtime_error("nothing was typed");
  line.resize(static_cast<std::size_t>(n));
  line.resize(without_line_break(as_view(line)).size());
  return line;
}

}  // namespace warder
