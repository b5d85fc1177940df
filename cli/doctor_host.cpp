#include "cli/doctor_host.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "base/fd.hpp"
#include "cli/harden.hpp"
#include "cli/state.hpp"
#include "secrets/secret_value.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

std::string try_locked_memory() {
  constexpr std::size_t kSecrets = 16;
  std::vector<SecretValue> secrets;
  try {
    while (secrets.size() < kSecrets) secrets.emplace_back("a value of nobody's");
  } catch (const std::system_error& error) {
    LaunchError failed(error.what());
    failed.error = error.code().value();
    failed.cause = Cause::locked_memory;
    throw failed;
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited"
                                         : std::to_string(limit.rlim_cur / 1024) + " KiB";
}

std::string try_core_dumps() {
  harden_process();
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) != 0 || limit.rlim_cur != 0 || ::prctl(PR_GET_DUMPABLE) != 0)
    throw launch_error("switch core dumps off");
  if (::geteuid() == 0) return {};  // root may look into anybody's
  const std::string memory = "/proc/" + std::to_string(::getpid()) + "/mem";
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::open(memory.c_str(), O_RDONLY | O_CLOEXEC) < 0 ? 0 : 1);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0)
    throw LaunchError("another process of this user can read the memory of warder");
  return {};
}

fs::path nearest_that_exists(fs::path path) {
  std::error_code ignored;
  while (!fs::exists(path, ignored) && path != path.parent_path()) path = path.parent_path();
  return path;
}

// Makes and removes a directory and a file in `parent`.
void write_in(const fs::path& parent, Cause cause) {
  const fs::path made = parent / (".warder-doctor-" + std::to_string(::getpid()));
  if (::mkdir(made.c_str(), 0700) != 0) fail("write in " + parent.string(), cause);
  const fs::path file = made / "file";
  const Fd written(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const bool good = written && ::write(written.get(), "x", 1) == 1 && ::fsync(written.get()) == 0;
  const int error = errno;
  ::unlink(file.c_str());
  ::rmdir(made.c_str());
  errno = error;
  if (!good) fail("write a file in " + parent.string(), cause);
}

void check_owner(const fs::path& directory, mode_t forbidden, Cause cause) {
  struct stat what{};
  if (::lstat(directory.c_str(), &what) != 0) return;  // made by the first run
  if (!S_ISDIR(what.st_mode)) {
    errno = ENOTDIR;
    fail("use " + directory.string(), cause);
  }
  errno = EACCES;
  if (what.st_uid != ::geteuid())
    fail("use " + directory.string() + ", which is another user's", cause);
  if ((what.st_mode & forbidden) != 0)
    fail("use " + directory.string() + ", which others may enter", cause);
}

std::string try_state_directory() {
  for (const fs::path& each : {state_directory(), audit_directory()}) {
    check_owner(each, 0, Cause::state_directory);  // a run closes it to others by itself
    write_in(nearest_that_exists(each), Cause::state_directory);
  }
  return state_directory();
}

std::string try_runtime_directory() {
  for (const fs::path& each : {runtime_directory(), runs_directory()}) {
    check_owner(each, 077, Cause::runtime_directory);
    write_in(nearest_that_exists(each), Cause::runtime_directory);
  }
  return runtime_directory();
}

std::string try_entropy() {
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), GRND_NONBLOCK) != static_cast<ssize_t>(bytes.size()))
    fail("get random numbers", Cause::no_entropy);
  return {};
}

std::string try_clock() {
  constexpr std::time_t kBeforeThis = 1'767'225'600;  // 2026-01-01
  const std::time_t now = std::time(nullptr);
  if (now < kBeforeThis) {
    std::array<char, 32> text{};
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts);
    throw Missing(std::string("the clock says ") + text.data() + ", before this Warder was made",
                  Cause::wrong_clock);
  }
  return {};
}

}  // namespace

std::vector<Attempt> try_host() {
  return {attempt("locked_memory", try_locked_memory),
          attempt("core_dumps", try_core_dumps),
          attempt("state_directory", try_state_directory),
          attempt("runtime_directory", try_runtime_directory),
          attempt("entropy", try_entropy),
          attempt("clock", try_clock)};
}

}  // namespace warder
