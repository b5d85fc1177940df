#include "cli/harden.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

namespace warder {

void harden_process() {
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_CORE, &none) != 0 || ::prctl(PR_SET_DUMPABLE, 0) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot close this process to others");
  }
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &files);  // fewer connections is all that this costs
  }
}

void hold_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number, which is this one.
    if (::open("/dev/null", O_RDWR) != fd) ::_exit(125);
  }
  // Whoever reads our messages may go away; the run and its record go on.
  std::signal(SIGPIPE, SIG_IGN);
}

std::string refuse_standard_descriptors() {
  constexpr std::array kNames{"standard input", "standard output", "standard error"};
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    struct stat what{};
    if (::fstat(fd, &what) != 0 || !S_ISDIR(what.st_mode)) continue;
    return std::string(kNames[static_cast<std::size_t>(fd)]) +
           " is a directory, through which the sandbox would reach everything beside it";
  }
  return {};
}

}  // namespace warder
