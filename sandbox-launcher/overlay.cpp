// Overlayfs is kept to what a walk over the upper directory can read back: no redirects, no metadata-only copies, marks in
// user.overlay.* so that both root and an ordinary user can mount and read it.
#include "sandbox-launcher/overlay.hpp"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "sandbox-launcher/launch_error.hpp"
#include "sandbox-launcher/staging.hpp"
#include "sandbox-launcher/view_paths.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

// mountinfo(5) writes space, tab, newline and backslash as \ooo.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out +=
          static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// What the mask of a set-group-ID directory and of access control lists would give to new files, it must give here too.
void look_like(const fs::path& lower, const fs::path& upper) {
  struct stat root{};
  if (::stat(lower.c_str(), &root) != 0) throw launch_error("look at the workspace");
  // As an ordinary user the tree may be another's: what is made in the clone is then the caller's all the same.
  if (::chown(upper.c_str(), root.st_uid, root.st_gid) != 0 && ::geteuid() == 0) {
    throw launch_error("give the clone to user " + std::to_string(root.st_uid));
  }
  if (::chmod(upper.c_str(), root.st_mode & 07777) != 0) {
    throw launch_error("set the mode of the clone");
  }
  for (const char* list : {"system.posix_acl_access", "system.posix_acl_default"}) {
    std::array<char, 4096> value{};
    const ssize_t size = ::getxattr(lower.c_str(), list, value.data(), value.size());
    if (size > 0)
      (void)::setxattr(upper.c_str(), list, value.data(), static_cast<std::size_t>(size), 0);
  }
}

// Without them a directory that was replaced would show its old contents: the kernel mounts it nonetheless.
void check_attributes(const fs::path& upper, const fs::path& named) {
  constexpr const char* kProbe = "user.overlay.warder";
  if (::setxattr(upper.c_str(), kProbe, "y", 1, 0) == 0 &&
      ::removexattr(upper.c_str(), kProbe) == 0)
    return;
  const int error = errno;
  const std::string kind = file_system_of(upper);
  errno = error;
  throw launch_error("keep a clone in " + named.string() + ", whose file system (" + kind +
                         ") takes no user attributes",
                     "Set XDG_STATE_HOME to a directory on ext4, xfs or btrfs");
}

LaunchError refused(const LaunchPlan& plan, const fs::path& lower, const fs::path& layers) {
  const int error = errno;
  const std::string kinds = "the workspace is on " + file_system_of(lower) + ", the clone (" +
                            plan.spec.clone.string() + ") on " + file_system_of(layers);
  std::string remedy;
  if (error == ENODEV) {
    remedy = "The kernel has no overlay file system: modprobe overlay, or run without --clone";
  } else if (error == EPERM) {
    remedy =
        "The kernel lets nobody but root mount an overlay: it takes Linux 5.11 and no security "
        "module against it. Run without --clone";
  } else {
    remedy =
        "One of them cannot be a layer of an overlay, or (as root) the kernel is older than 5.19: "
        "set XDG_STATE_HOME to a directory on ext4, xfs or btrfs, or run without --clone";
  }
  errno = error;
  return launch_error("mount an overlay on the workspace (" + kinds + ")", remedy);
}

}  // namespace

void check_clone(const LaunchPlan& plan, const std::string& mountinfo) {
  if (plan.spec.clone.empty()) return;
  std::error_code unknown;
  const fs::path resolved = fs::weakly_canonical(plan.spec.workspace, unknown);
  const fs::path workspace = tidy(unknown ? plan.spec.workspace : resolved);
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, point;
    if (!(words >> word >> word >> word >> word >> point)) continue;
    const fs::path at = unescaped(point);
    if (!below(at, workspace)) continue;
    const auto shows = [&](const fs::path& given) { return within(at, tidy(given)); };
    const auto& ro = plan.spec.read_only;
    const auto& rw = plan.spec.read_write;
    if (std::any_of(ro.begin(), ro.end(), shows) || std::any_of(rw.begin(), rw.end(), shows))
      continue;
    throw LaunchError(at.string() +
                          " is a file system of its own, which --clone cannot clone with the "
                          "workspace: unmount it, or show it as it is with --ro " +
                          at.string(),
                      2);
  }
}

void check_clone(const LaunchPlan& plan) {
  if (plan.spec.clone.empty()) return;
  std::ifstream file("/proc/self/mountinfo");
  check_clone(plan, {std::istreambuf_iterator<char>(file), {}});
}

void mount_clone(const LaunchPlan& plan, std::map<fs::path, std::string>& staged) {
  if (plan.spec.clone.empty()) return;
  const fs::path lower = staged.at(tidy(plan.spec.workspace));
  const fs::path layers = staged.at(tidy(plan.spec.clone));
  const fs::path upper = layers / kUpperName;
  check_attributes(upper, plan.spec.clone);
  look_like(lower, upper);

  // Staged paths are numbers in a directory of ours: nothing in them has a meaning to the mount's options.
  const fs::path at = lower.parent_path() / "clone";
  const std::string options = "lowerdir=" + lower.string() + ",upperdir=" + upper.string() +
                              ",workdir=" + (layers / kWorkName).string() +
                              ",userxattr,redirect_dir=nofollow,index=off,metacopy=off";
  if (::mkdir(at.c_str(), 0755) != 0) throw launch_error("make " + at.string());
  if (::mount("warder-clone", at.c_str(), "overlay", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    throw refused(plan, lower, layers);
  staged.erase(tidy(plan.spec.clone));
  staged[tidy(plan.spec.workspace)] = at;
}

}  // namespace warder
