#include "protect/package_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "config/config.hpp"
#include "protect/beneath.hpp"
#include "protect/held_files.hpp"
#include "protect/printable.hpp"
#include "sandbox-launcher/view_paths.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

// https://bford.info/cachedir/: programs that make backups pass over it.
constexpr const char* kTag = "CACHEDIR.TAG";
constexpr std::string_view kSignature = "Signature: 8a477f597d28d172789f06886806bc55";
constexpr std::string_view kTagText =
    "Signature: 8a477f597d28d172789f06886806bc55\n# Package caches of Warder's sandboxes.\n";

struct Variable {
  const char* name;
  const char* before;
  const char* directory;
};
// Cargo has no variable for its caches alone: two links in ~/.cargo lead to them.
constexpr std::array kVariables{
    Variable{"XDG_CACHE_HOME", "", ""},
    Variable{"npm_config_cache", "", "/npm"},
    Variable{"YARN_CACHE_FOLDER", "", "/yarn"},
    Variable{"PIP_CACHE_DIR", "", "/pip"},
    Variable{"UV_CACHE_DIR", "", "/uv"},
    Variable{"GOMODCACHE", "", "/go-mod"},
    Variable{"GOCACHE", "", "/go-build"},
    Variable{"GRADLE_USER_HOME", "", "/gradle"},
    Variable{"MAVEN_ARGS", "-Dmaven.repo.local=", "/maven"},
};
constexpr std::array kCargo{"registry", "git"};

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw ConfigError("--cache " + printable(path) + " " + why +
                    ": name a new directory, such as ~/.cache/warder/NAME");
}

void check_place(const fs::path& path, const PackageCacheRules& rules) {
  if (!rules.home.empty() && within(rules.home, path)) refuse(path, "is or holds your home");
  for (const fs::path& given : rules.writable) {
    if (within(given, path) || within(path, given))
      refuse(path,
             "and what the sandbox may write anyway overlap, so that it could choose what is "
             "shown next time");
  }
  if (within(rules.workspace, path) || within(path, rules.workspace))
    refuse(path,
           "and the working directory overlap, so that the sandbox could choose what is shown "
           "next time");
  for (const fs::path& covered : rules.covered) {
    std::error_code error;
    const fs::path real = fs::weakly_canonical(covered, error);
    if (within(path, real) || within(real, path))
      refuse(path, "lies in, or holds, what the sandbox must not see (" + printable(real) + ")");
  }
}

// A directory belongs to whom its parent does, whoever runs Warder.
void make_in(const Fd& parent, const char* name) {
  struct stat info{};
  if (::mkdirat(parent.get(), name, 0700) != 0 || ::fstat(parent.get(), &info) != 0) return;
  (void)::fchownat(parent.get(), name, info.st_uid, info.st_gid, AT_SYMLINK_NOFOLLOW);
}

Fd open_own(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (const Fd parent = open_root(path.parent_path())) make_in(parent, path.filename().c_str());
  Fd directory = open_root(path);
  if (!directory) refuse(path, "cannot be opened (" + std::generic_category().message(errno) + ")");
  struct stat info{};
  if (::fstat(directory.get(), &info) != 0 || (::geteuid() != 0 && info.st_uid != ::geteuid()) ||
      (info.st_mode & 022) != 0)
    refuse(path, "is not yours alone to write");
  return directory;
}

void check_tag(const Fd& directory, const fs::path& path) {
  if (const auto text = read_beneath(directory, kTag, kSignature.size()); text == kSignature)
    return;
  std::error_code error;
  if (!fs::is_empty("/proc/self/fd/" + std::to_string(directory.get()), error) || error)
    refuse(path,
           "holds something else than a cache (it has no CACHEDIR.TAG), which the sandbox "
           "could change");
  HeldFiles::put(directory, kTag, kTagText);
}

}  // namespace

fs::path usual_package_cache(const fs::path& home) { return home / ".cache/warder/packages"; }

PackageCache open_package_cache(const fs::path& given, const PackageCacheRules& rules) {
  std::error_code error;
  const fs::path path = tidy(fs::weakly_canonical(fs::absolute(given), error));
  if (error) refuse(given, "cannot be opened (" + error.message() + ")");
  check_place(path, rules);
  const Fd directory = open_own(path);
  check_tag(directory, path);
  PackageCache cache{{".cache", path, HomeTree::Access::read_write}, {}, {}};
  make_in(directory, "cargo");
  // Whatever an earlier sandbox has put there: the links are followed inside.
  const Fd cargo = open_beneath(directory, "cargo", O_RDONLY | O_DIRECTORY);
  for (const char* name : kCargo) {
    if (cargo) make_in(cargo, name);
    cache.links.push_back({fs::path(".cargo") / name, fs::path(".cache/cargo") / name});
  }
  for (const Variable& each : kVariables)
    cache.variables[each.name] = std::string(each.before) + kHomePath + "/.cache" + each.directory;
  return cache;
}

}  // namespace warder
