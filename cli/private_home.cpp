#include "cli/private_home.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include "cli/environment.hpp"
#include "cli/state.hpp"
#include "sandbox-launcher/view_paths.hpp"
#include "secrets/known_token.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

// Beside the copies, whose names are those of places in the home.
constexpr const char* kEmpty = "-empty-";
constexpr int kDeepestSeen = 64;
constexpr int kOpen = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

[[noreturn]] void cannot(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), "cannot " + what);
}

// `relative` below the home, with no link on the way: whoever could write one would choose what is shown. Empty where
// it cannot be opened; errno says why.
Fd open_below(const Fd& home, const fs::path& relative) {
  Fd at(::fcntl(home.get(), F_DUPFD_CLOEXEC, 0));
  for (const fs::path& part : relative) {
    at = Fd(::openat(at.get(), part.c_str(), kOpen));
    if (!at) return at;
  }
  return at;
}

// Of a new project there is nothing to keep yet. It belongs to whom its parent does, whoever runs Warder.
void make_below(const Fd& home, const fs::path& relative) {
  const Fd parent = open_below(home, relative.parent_path());
  struct stat info{};
  if (!parent || ::fstat(parent.get(), &info) != 0) return;
  const std::string name = relative.filename();
  if (::mkdirat(parent.get(), name.c_str(), 0700) != 0) return;
  (void)::fchownat(parent.get(), name.c_str(), info.st_uid, info.st_gid, AT_SYMLINK_NOFOLLOW);
}

// As Claude Code names a project's directory: "/work/my.app" is "-work-my-app".
std::string name_of_workspace(const fs::path& workspace) {
  std::string name = workspace.string();
  for (char& c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain) c = '-';
  }
  return name;
}

fs::path written_out(const std::string& path, const fs::path& workspace) {
  constexpr std::string_view kWorkspace = "${workspace}";
  const std::size_t at = path.find(kWorkspace);
  if (at == std::string::npos) return path;
  std::string out = path;
  return out.replace(at, kWorkspace.size(), name_of_workspace(workspace));
}

// Whatever modes the sandbox gave to its directories.
void discard(const fs::path& stage) {
  std::error_code ignored;
  fs::recursive_directory_iterator entry(stage, fs::directory_options::skip_permission_denied,
                                         ignored);
  for (const fs::recursive_directory_iterator end; !ignored && entry != end;
       entry.increment(ignored)) {
    std::error_code unknown;
    if (entry->symlink_status(unknown).type() == fs::file_type::directory)
      (void)::chmod(entry->path().c_str(), 0700);
  }
  fs::remove_all(stage, ignored);
}

Fd lock_directory(const fs::path& path, int how) {
  Fd directory(::open(path.c_str(), kOpen | O_DIRECTORY));
  if (directory && ::flock(directory.get(), how) != 0) return Fd();
  return directory;
}

// What a run left that did not live to its end: nobody holds it.
void remove_abandoned(const fs::path& stages) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(stages, ignored)) {
    if (const Fd mine = lock_directory(entry.path(), LOCK_EX | LOCK_NB)) discard(entry.path());
  }
}

void write_all(const fs::path& file, std::string_view bytes, mode_t mode) {
  const Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd) cannot("write " + file.string());
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0) cannot("write " + file.string());
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

// nullopt: it is longer.
std::optional<std::string> read_whole(const Fd& from, std::size_t most, const std::string& label) {
  std::string bytes;
  std::string part(64U << 10, '\0');
  for (ssize_t n = 0; (n = ::read(from.get(), part.data(), part.size())) != 0;) {
    if (n < 0) cannot("read " + label);
    bytes.append(part, 0, static_cast<std::size_t>(n));
    if (bytes.size() > most) return std::nullopt;
  }
  return bytes;
}

// Why the sandbox must not read it; empty: it may.
std::string credential_in(const std::string& bytes, const SessionSecrets& secrets) {
  if (const std::string secret = held_secret(bytes, secrets); !secret.empty())
    return "it holds the value of secret " + secret;
  if (holds_known_token(bytes))
    return "it holds what looks like a token or a private key: keep that in a variable";
  return "";
}

}  // namespace

// Regular files and directories, nothing else, within the bounds of all copies together.
class PrivateHome::Copier {
 public:
  Copier(const SessionSecrets& secrets, std::vector<std::string>& notes)
      : secrets_(secrets), notes_(notes) {}

  // Whether there is something at `to` now. `label`: for people.
  bool copy(const Fd& from, const fs::path& to, const std::string& label, int depth = 0) {
    struct stat info{};
    if (::fstat(from.get(), &info) != 0) cannot("look at " + label);
    if (++entries_ > kMostEntries || depth > kDeepest) too_much(label);
    if (S_ISREG(info.st_mode)) return copy_file(from, to, label, info.st_mode);
    if (!S_ISDIR(info.st_mode)) return false;
    fs::create_directories(to);
    for (const fs::directory_entry& entry :
         fs::directory_iterator("/proc/self/fd/" + std::to_string(from.get()))) {
      const std::string name = entry.path().filename();
      const Fd child(::openat(from.get(), name.c_str(), kOpen));
      if (child) (void)copy(child, to / name, label + '/' + name, depth + 1);
    }
    return true;
  }

 private:
  bool copy_file(const Fd& from, const fs::path& to, const std::string& label, mode_t mode) {
    const auto bytes = read_whole(from, kMostBytes - bytes_, label);
    if (!bytes) too_much(label);
    if (const std::string why = credential_in(*bytes, secrets_); !why.empty()) {
      notes_.push_back(label + " is left out: " + why);
      return false;
    }
    bytes_ += bytes->size();
    fs::create_directories(to.parent_path());
    write_all(to, *bytes, (mode & 0100) != 0 ? 0700 : 0600);
    return true;
  }

  [[noreturn]] static void too_much(const std::string& label) {
    throw ConfigError("a profile copies at most " + std::to_string(kMostEntries) + " files, " +
                      std::to_string(kMostBytes >> 20) + " MiB and " + std::to_string(kDeepest) +
                      " levels, and " + label +
                      " goes beyond: move what the agent does not need out of it");
  }

  const SessionSecrets& secrets_;
  std::vector<std::string>& notes_;
  std::size_t entries_ = 0;
  std::size_t bytes_ = 0;
};

// Looks through what is shown read-only, within the bounds of all such places together.
class PrivateHome::Looker {
 public:
  explicit Looker(const SessionSecrets& secrets) : secrets_(secrets) {}

  // Files below `at` that hold a credential, and why. nullopt: there is too much of it.
  using Found = std::vector<std::pair<fs::path, std::string>>;
  std::optional<Found> look(const Fd& from, const fs::path& at) {
    Found found;
    if (!add(from, at, found, 0)) return std::nullopt;
    return found;
  }

 private:
  bool add(const Fd& from, const fs::path& at, Found& found, int depth) {
    struct stat info{};
    if (::fstat(from.get(), &info) != 0) cannot("look at ~/" + at.string());
    if (++entries_ > kMostSeenEntries || depth > kDeepestSeen) return false;
    if (S_ISREG(info.st_mode)) return add_file(from, at, found);
    if (!S_ISDIR(info.st_mode)) return true;
    for (const fs::directory_entry& entry :
         fs::directory_iterator("/proc/self/fd/" + std::to_string(from.get()))) {
      const fs::path name = entry.path().filename();
      const Fd child(::openat(from.get(), name.c_str(), kOpen));
      // A link leads to what is looked through itself, or is not there; the sandbox can open no more than its caller.
      const bool is_nothing =
          !child && (errno == ELOOP || errno == EACCES || errno == ENOENT || errno == ENXIO);
      if (is_nothing) continue;
      if (!child) cannot("look at ~/" + (at / name).string());
      if (!add(child, at / name, found, depth + 1)) return false;
    }
    return true;
  }

  bool add_file(const Fd& from, const fs::path& at, Found& found) {
    const auto bytes = read_whole(from, kMostSeenBytes - bytes_, "~/" + at.string());
    if (!bytes) return false;
    bytes_ += bytes->size();
    if (std::string why = credential_in(*bytes, secrets_); !why.empty())
      found.emplace_back(at, std::move(why));
    return found.size() <= kMostCovered;
  }

  const SessionSecrets& secrets_;
  std::size_t entries_ = 0;
  std::size_t bytes_ = 0;
};

PrivateHome::PrivateHome(const PrivateHomeSpec& spec, const std::string& run,
                         const SessionSecrets& secrets) {
  if (spec.places.empty() || spec.home.empty() || !fs::is_directory(spec.home)) return;
  make_stage(run);
  try {
    Copier copier(secrets, notes_);
    Looker looker(secrets);
    // Readable whoever the sandbox runs as: nothing stands in it.
    write_all(stage_ / kEmpty, "", 0444);
    if (::chmod((stage_ / kEmpty).c_str(), 0444) != 0) cannot("open " + (stage_ / kEmpty).string());
    for (const HomePlace& place : spec.places) show(spec, place, copier, looker);
  } catch (...) {
    discard(stage_);
    throw;
  }
  // Parents first, and of two equal ones, which several copies brought, one.
  const auto before = [](const HomeTree& a, const HomeTree& b) { return a.at < b.at; };
  const auto same = [](const HomeTree& a, const HomeTree& b) { return a.at == b.at; };
  std::sort(trees_.begin(), trees_.end(), before);
  trees_.erase(std::unique(trees_.begin(), trees_.end(), same), trees_.end());
}

PrivateHome::~PrivateHome() {
  if (!stage_.empty()) discard(stage_);
}

void PrivateHome::make_stage(const std::string& run) {
  const fs::path stages = state_directory() / "homes";
  fs::create_directories(stages);
  if (::chmod(stages.c_str(), 0700) != 0) cannot("close " + stages.string());
  // Of all stages while one is made: it must not look abandoned before it is held.
  const Fd all = lock_directory(stages, LOCK_EX);
  if (!all) cannot("lock " + stages.string());
  remove_abandoned(stages);
  stage_ = stages / run;
  if (::mkdir(stage_.c_str(), 0700) != 0) cannot("make " + stage_.string());
  lock_ = lock_directory(stage_, LOCK_EX | LOCK_NB);
  if (!lock_) cannot("lock " + stage_.string());
}

void PrivateHome::show(const PrivateHomeSpec& spec, const HomePlace& place, Copier& copier,
                       Looker& looker) {
  const fs::path at = written_out(place.path, spec.workspace);
  const std::string label = "~/" + at.string();
  const Fd home(::open(spec.home.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!home) cannot("open " + spec.home.string());
  if (place.how == HomePlace::How::kept) make_below(home, at);
  const Fd opened = open_below(home, at);
  if (!opened) {
    if (errno == ELOOP || errno == ENOTDIR)
      notes_.push_back(label + " is left out: it is reached through a link");
    return;
  }
  const fs::path source = fs::canonical(spec.home) / at;
  for (const fs::path& withheld : spec.withheld) {
    const fs::path real = fs::weakly_canonical(withheld);
    if (!within(real, source) && !within(source, real)) continue;
    throw ConfigError(label + " is shown by the profile and holds, or lies in, " + real.string() +
                      ", which the sandbox must not see or change: move that to a directory of "
                      "its own");
  }
  struct stat info{};
  if (::fstat(opened.get(), &info) != 0) cannot("look at " + label);
  if (place.how == HomePlace::How::private_copy) {
    if (!copier.copy(opened, stage_ / at, label)) return;
    // By its directory, so that the agent can replace a file as editors do.
    const fs::path shown = at.has_parent_path() ? at.parent_path() : at;
    trees_.push_back({shown, stage_ / shown, HomeTree::Access::read_write});
  } else if (place.how == HomePlace::How::kept) {
    if (S_ISDIR(info.st_mode)) mount(at, source, HomeTree::Access::read_write);
  } else if (S_ISDIR(info.st_mode) || S_ISREG(info.st_mode)) {
    const auto found = looker.look(opened, at);
    if (!found) {
      notes_.push_back(label + " is left out: it is too large to be looked through for tokens");
      return;
    }
    const bool is_directory = S_ISDIR(info.st_mode);
    for (const auto& [file, why] : *found)
      notes_.push_back("~/" + file.string() +
                       (is_directory ? " is shown empty: " : " is left out: ") + why);
    if (!is_directory && !found->empty()) return;
    mount(at, source, HomeTree::Access::read_only);
    for (const auto& [file, why] : *found)
      trees_.push_back({file, stage_ / kEmpty, HomeTree::Access::read_only});
  }
}

void PrivateHome::mount(const fs::path& at, const fs::path& source, HomeTree::Access access) {
  trees_.push_back({at, source, access});
  // A place to mount it on, where its parent is a copy.
  if (fs::is_directory(source)) fs::create_directories(stage_ / at);
}

}  // namespace warder
