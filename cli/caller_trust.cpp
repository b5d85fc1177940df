// What a file holds besides certificates (a private key, say) stays out: the sandbox reads what is made of this.
#include "cli/caller_trust.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <set>
#include <system_error>

#include "base/fd.hpp"
#include "certs/trust.hpp"

namespace warder {
namespace {

// All public roots are a quarter of a MiB; together they must fit into what the launcher is told.
constexpr std::size_t kLargestFile = 2U << 20;
constexpr std::size_t kMostFiles = 4;
constexpr const char* kOfOpenssl = "SSL_CERT_FILE";

struct Read {
  std::string text;
  std::string failure;  // empty: none
};

Read read_file(const std::string& path) {
  // Not blocking: opening a pipe would wait for somebody who writes into it.
  const Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0)
    return {"", std::generic_category().message(errno)};
  if (S_ISDIR(status.st_mode)) return {"", "it is a directory"};
  if (!S_ISREG(status.st_mode)) return {"", "it is no file"};
  std::string text(kLargestFile + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ::read(file.get(), text.data() + size, text.size() - size);
    if (n < 0) return {"", std::generic_category().message(errno)};
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  if (size > kLargestFile) return {"", "it is larger than 2 MiB"};
  text.resize(size);
  return {std::move(text), ""};
}

// By file, the first variable that names it.
std::map<std::string, std::string> named_files() {
  std::map<std::string, std::string> named;
  for (const auto& [variable, ignored] : trust_variables("", "")) {
    const char* value = std::getenv(variable.c_str());
    if (value != nullptr && *value != '\0' && !is_system_bundle(value))
      named.try_emplace(value, variable);
  }
  return named;
}

std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace

CallerTrust caller_trust() {
  CallerTrust trust;
  std::size_t taken = 0;
  for (const auto& [path, variable] : named_files()) {
    const Read read = read_file(path);
    std::string failure = read.failure;
    std::string pem = certificates_only(read.text);
    if (failure.empty() && pem.empty()) failure = "there is no certificate in PEM in it";
    if (failure.empty() && ++taken > kMostFiles) failure = "these are more than four files";
    if (failure.empty()) {
      trust.pem += pem;
    } else {
      // OpenSSL in this process would read it all the same, for origins, and wait for ever on a pipe.
      const char* of_openssl = std::getenv(kOfOpenssl);
      if (of_openssl != nullptr && path == of_openssl) ::unsetenv(kOfOpenssl);
      trust.notes.push_back(variable + "=" + printable(path) + " is not taken over: " + failure);
    }
  }
  return trust;
}

}  // namespace warder
