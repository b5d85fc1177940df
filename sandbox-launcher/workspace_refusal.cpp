// Directories that are too much for one sandbox to write: a slip of the hand, said before anything is bound.
#include <algorithm>
#include <array>

#include "sandbox-launcher/view.hpp"
#include "sandbox-launcher/view_paths.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

constexpr std::array kTooMuch{
    "/",         "/tmp",     "/var/tmp",   "/etc",       "/usr",       "/usr/local",     "/usr/bin",
    "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/share", "/usr/local/bin", "/bin",
    "/sbin",     "/lib",     "/lib32",     "/lib64",     "/opt",       "/var",           "/var/lib",
    "/run",      "/boot",    "/srv",       "/mnt",       "/media",     "/root",          "/home",
    kHomePath};
constexpr std::array kNothingBelow{"/etc", "/proc", "/sys", "/dev", "/boot"};

fs::path real(const fs::path& path) {
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(path, error);
  return tidy(error ? path : resolved);
}

std::string refuse(const fs::path& path, const fs::path& home) {
  const std::string advice =
      ": start in a subdirectory that holds the work, or name a single directory with --rw";
  const auto is = [&](const char* each) { return path == each; };
  const auto lies_in = [&](const char* each) { return within(path, each); };
  if (!path.is_absolute())
    return "the workspace " + path.string() + " is not an absolute path" + advice;
  if (std::any_of(kTooMuch.begin(), kTooMuch.end(), is) ||
      std::any_of(kNothingBelow.begin(), kNothingBelow.end(), lies_in)) {
    return path.string() + " is a system directory and cannot be the workspace" + advice;
  }
  if (!home.empty() && path == home)
    return path.string() + " is your home and cannot be the workspace" + advice;
  if (!home.empty() && within(home, path)) {
    return path.string() + " holds your home and cannot be the workspace" + advice;
  }
  return {};
}

}  // namespace

std::string refuse_workspace(const fs::path& workspace, const fs::path& home) {
  const std::string as_given = refuse(tidy(workspace), home.empty() ? home : tidy(home));
  return as_given.empty() ? refuse(real(workspace), home.empty() ? home : real(home)) : as_given;
}

}  // namespace warder
