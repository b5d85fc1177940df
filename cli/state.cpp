#include "cli/state.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

#include "base/encoding.hpp"
#include "base/random.hpp"

namespace warder {
namespace {

std::filesystem::path home_directory() {
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return home;
  const passwd* entry = ::getpwuid(::getuid());
  if (entry == nullptr || entry->pw_dir[0] != '/') {
    throw std::runtime_error("no home directory is known: set HOME or XDG_STATE_HOME");
  }
  return entry->pw_dir;
}

}  // namespace

std::filesystem::path state_directory() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return std::filesystem::path(state) / "warder";
  return home_directory() / ".local/state/warder";
}

std::filesystem::path audit_key_file() { return state_directory() / "audit.key"; }
std::filesystem::path audit_directory() { return state_directory() / "audit"; }

std::filesystem::path runtime_directory() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  std::error_code ignored;
  // After su it names what is not there, and cannot be made.
  if (runtime != nullptr && runtime[0] == '/' && std::filesystem::is_directory(runtime, ignored))
    return std::filesystem::path(runtime) / "warder";
  return state_directory() / "run";
}

std::filesystem::path runs_directory() { return runtime_directory() / "runs"; }

void make_private_directory(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory.parent_path());
  (void)::mkdir(directory.c_str(), 0700);
  struct stat info{};
  const bool good = ::lstat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
                    info.st_uid == ::geteuid() && (info.st_mode & 077) == 0;
  if (!good) {
    throw std::runtime_error(directory.string() +
                             " is no directory that only you can enter: remove it, or chmod 700");
  }
}

void make_state_directories() {
  for (const auto& directory : {state_directory(), audit_directory()}) {
    std::filesystem::create_directories(directory);
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all);
  }
}

std::string new_run_id() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t n = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ-", &parts);
  std::array<std::uint8_t, 4> random{};
  SystemRandom().fill(random);
  return std::string(text.data(), n) + hex_encode(random);
}

}  // namespace warder
