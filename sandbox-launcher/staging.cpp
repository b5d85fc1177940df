// open_tree(2), mount_setattr(2) and move_mount(2) by number: <linux/mount.h> has their flags and cannot be included
// together with all versions of <sys/mount.h>.
#include "sandbox-launcher/staging.hpp"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/fd.hpp"
#include "sandbox-launcher/diagnosis.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

// Exist on every host, and nothing of them is in a view but by a path that was opened before they are covered.
constexpr std::array kStages{"/mnt", "/media", "/srv", "/run"};

constexpr Cause kNoMounts = Cause::root_in_container;

void leave_mount_namespace() {
  if (::unshare(CLONE_NEWNS) != 0) throw launch_error("make a mount namespace", kNoMounts);
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    throw launch_error("make the mounts private", kNoMounts);
  }
}

Fd open_tree(const fs::path& path) {
  constexpr unsigned kFlags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
  Fd tree(static_cast<int>(::syscall(SYS_open_tree, AT_FDCWD, path.c_str(), kFlags)));
  if (tree) return tree;
  if (errno == ENOENT || errno == ENOTDIR) throw LaunchError(path.string() + " does not exist", 2);
  throw launch_error("open " + path.string(), "Warder needs Linux 5.12 to run as root");
}

// One id becomes another, everybody else stays who they are, except the one whose place is taken. A line maps an id on
// disk to the id that the workload's kernel sees.
std::string id_map(std::uint32_t on_disk, std::uint32_t seen) {
  constexpr std::uint64_t kEnd = 0xffffffff;  // -1 is no id
  std::string map = std::to_string(on_disk) + " " + std::to_string(seen) + " 1\n";
  std::uint64_t from = 0;
  for (const std::uint64_t hole :
       {std::uint64_t{std::min(on_disk, seen)}, std::uint64_t{std::max(on_disk, seen)}, kEnd}) {
    if (hole > from) {
      map += std::to_string(from) + " " + std::to_string(from) + " " + std::to_string(hole - from) +
             "\n";
    }
    from = hole + 1;
  }
  return map;
}

void write_map(pid_t process, const char* name, const std::string& map) {
  const std::string path = "/proc/" + std::to_string(process) + "/" + name;
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  // A map is taken in one write or not at all.
  if (!file || ::write(file.get(), map.data(), map.size()) != static_cast<ssize_t>(map.size())) {
    throw refusal(Step::user_map, "write the user map of the workspace");
  }
}

// A process that only holds a user namespace; gone with this value.
class NamespaceHolder {
 public:
  NamespaceHolder() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw launch_error("make a pipe");
    Fd ready(ends[0]);
    Fd say(ends[1]);
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw launch_error("make a pipe");
    Fd end(ends[0]);
    until_ = Fd(ends[1]);
    pid_ = ::fork();
    if (pid_ < 0) throw launch_error("start a process");
    if (pid_ == 0) {
      until_.reset();
      char never = 0;
      const int error = ::unshare(CLONE_NEWUSER) == 0 ? 0 : errno;
      // Ends with its parent, however that ends: what unshare() does to a parent-death signal does not count.
      if (::write(say.get(), &error, sizeof error) == sizeof error && error == 0)
        (void)!::read(end.get(), &never, 1);
      ::_exit(1);
    }
    say.reset();
    int error = EIO;
    const bool heard = ::read(ready.get(), &error, sizeof error) == sizeof error;
    if (heard && error == 0) return;
    stop();
    errno = error;
    throw refusal(Step::user_namespace, "make a user namespace for the workspace");
  }
  NamespaceHolder(const NamespaceHolder&) = delete;
  NamespaceHolder& operator=(const NamespaceHolder&) = delete;
  ~NamespaceHolder() { stop(); }

  Fd user_namespace(const std::string& users, const std::string& groups) const {
    write_map(pid_, "uid_map", users);
    write_map(pid_, "gid_map", groups);
    Fd opened(::open(("/proc/" + std::to_string(pid_) + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened) throw launch_error("open a user namespace");
    return opened;
  }

 private:
  void stop() const {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pid_t pid_ = -1;
  Fd until_;  // held by this process alone
};

bool set_id_map(const Fd& tree, const Fd& user_namespace, unsigned flags) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_IDMAP;
  attributes.userns_fd = static_cast<std::uint64_t>(user_namespace.get());
  return ::syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH | flags, &attributes,
                   sizeof attributes) == 0;
}

// The tree looks as if `owner` owned what the owner of its root owns.
void give_to(const Owner& owner, const Fd& tree, const fs::path& path) {
  struct stat root{};
  if (::fstat(tree.get(), &root) != 0) throw launch_error("look at " + path.string());
  if (root.st_uid == owner.uid) return;
  // What is for everybody, such as /tmp, works as it is, and the owner's own files in it stay the owner's.
  if ((root.st_mode & S_IWOTH) != 0) return;

  const NamespaceHolder holder;
  const Fd user_namespace =
      holder.user_namespace(id_map(root.st_uid, owner.uid), id_map(root.st_gid, owner.gid));
  // What is mounted further down may not support it; it is then shown with its real owners.
  if (set_id_map(tree, user_namespace, AT_RECURSIVE) || set_id_map(tree, user_namespace, 0)) return;
  const int error = errno;
  LaunchError refused("cannot show " + path.string() + " as user " + std::to_string(owner.uid) +
                          ": the file system " + file_system_of(path) + " does not support it (" +
                          std::strerror(error) +
                          "). Give it to an ordinary user: " + "chown -R UID " + path.string(),
                      2);
  refused.error = error;
  refused.cause = Cause::no_idmap;
  throw refused;
}

std::string make_stage() {
  for (const char* place : kStages) {
    struct stat what{};
    if (::lstat(place, &what) != 0 || !S_ISDIR(what.st_mode)) continue;
    constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    if (::mount("warder", place, "tmpfs", kFlags, "mode=0755,size=1m") != 0) {
      throw launch_error("mount a tmpfs on " + std::string(place), kNoMounts);
    }
    return place;
  }
  throw LaunchError(
      "none of /mnt, /media, /srv and /run is a directory: one is needed to run as root");
}

void attach(const Fd& tree, const std::string& at) {
  struct stat what{};
  if (::fstat(tree.get(), &what) != 0) throw launch_error("look at a source");
  const bool made =
      S_ISDIR(what.st_mode)
          ? ::mkdir(at.c_str(), 0755) == 0
          : static_cast<bool>(Fd(::open(at.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600)));
  if (!made) throw launch_error("make " + at);
  if (::syscall(SYS_move_mount, tree.get(), "", AT_FDCWD, at.c_str(), MOVE_MOUNT_F_EMPTY_PATH) !=
      0) {
    throw launch_error("attach a source at " + at, kNoMounts);
  }
}

}  // namespace

std::string file_system_of(const fs::path& path) {
  struct statx what{};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_MNT_ID, &what) != 0) return "unknown";
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::uint64_t id = 0;
    if (!(words >> id) || id != what.stx_mnt_id) continue;
    std::string word;
    while (words >> word && word != "-") {
    }
    if (words >> word) return word;
  }
  return "unknown";
}

std::map<fs::path, std::string> stage(const std::vector<fs::path>& sources,
                                      const std::set<fs::path>& writable, Owner owner) {
  leave_mount_namespace();
  // All are opened before the stage covers a directory that one of them may lie in.
  std::map<fs::path, Fd> trees;
  for (const fs::path& source : sources) {
    Fd tree = open_tree(source);
    if (writable.contains(source)) give_to(owner, tree, source);
    trees.insert_or_assign(source, std::move(tree));
  }
  const std::string place = make_stage();
  std::map<fs::path, std::string> staged;
  for (const auto& [source, tree] : trees) {
    const std::string at = place + "/" + std::to_string(staged.size());
    attach(tree, at);
    staged[source] = at;
  }
  return staged;
}

}  // namespace warder
