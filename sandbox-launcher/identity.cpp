// Root's powers are used for one thing, to open what the workload may see, and are then given up for good.
#include "sandbox-launcher/identity.hpp"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

#include "sandbox-launcher/launch_error.hpp"
#include "sandbox-launcher/overlay.hpp"
#include "sandbox-launcher/staging.hpp"
#include "sandbox-launcher/view_paths.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

// Nobody's: above every range that distributions and user namespaces hand out.
constexpr uid_t kNobodysId = 2'000'000'000;

uid_t to_uid(const std::string& text) {
  uid_t uid = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, uid);
  return error == std::errc() && rest == end && uid != static_cast<uid_t>(-1) ? uid : 0;
}

}  // namespace

Identity choose_identity(const LaunchPlan& plan) {
  struct stat workspace{};
  if (::stat(plan.spec.workspace.c_str(), &workspace) != 0) {
    throw LaunchError("the workspace " + plan.spec.workspace.string() +
                          " cannot be opened: " + std::strerror(errno),
                      2);
  }
  Identity identity;
  if (const uid_t caller = to_uid(plan.sudo_uid); caller != 0) {
    const passwd* user = ::getpwuid(caller);
    identity.uid = caller;
    identity.gid = user != nullptr && user->pw_gid != 0 ? user->pw_gid : caller;
  } else if (workspace.st_uid != 0) {
    identity.uid = workspace.st_uid;
    identity.gid = workspace.st_gid != 0 ? workspace.st_gid : workspace.st_uid;
  } else {
    identity.uid = kNobodysId;
    identity.gid = kNobodysId;
  }
  return identity;
}

namespace {

void clear_capabilities() {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0)
    throw launch_error("give up root's capabilities");
}

bool has_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> held{};
  if (::syscall(SYS_capget, &header, held.data()) != 0) return true;
  for (const __user_cap_data_struct& word : held) {
    if ((word.effective | word.permitted | word.inheritable) != 0) return true;
  }
  return false;
}

// An id that the user namespace of a container does not have.
Cause cause_of_unmapped() { return errno == EINVAL ? Cause::root_in_container : Cause::unknown; }

// Asked of the kernel, not concluded: a security module or a securebit may have made one of the steps mean less.
void check_nothing_is_left(const Identity& identity) {
  uid_t real = 0, effective = 0, saved = 0;
  gid_t real_group = 0, effective_group = 0, saved_group = 0;
  const bool known = ::getresuid(&real, &effective, &saved) == 0 &&
                     ::getresgid(&real_group, &effective_group, &saved_group) == 0;
  const bool users = real == identity.uid && effective == identity.uid && saved == identity.uid;
  const bool groups = real_group == identity.gid && effective_group == identity.gid &&
                      saved_group == identity.gid && ::getgroups(0, nullptr) == 0;
  const bool stays = ::setresuid(0, 0, 0) != 0 && ::setresgid(0, 0, 0) != 0;
  if (!known || !users || !groups || !stays || has_capabilities()) {
    throw LaunchError("cannot give up root: something of it could be regained");
  }
}

}  // namespace

void give_up_root(const Identity& identity) {
  ::prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
  if (::setgroups(0, nullptr) != 0) throw launch_error("give up root's groups");
  if (::setresgid(identity.gid, identity.gid, identity.gid) != 0)
    throw launch_error("change the group", cause_of_unmapped());
  if (::setresuid(identity.uid, identity.uid, identity.uid) != 0)
    throw launch_error("change the user", cause_of_unmapped());
  clear_capabilities();
  check_nothing_is_left(identity);
  // The change made /proc/self root's; the maps of the user namespace are written through it next.
  if (::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) throw launch_error("own /proc/self again");
}

namespace {

void check_reachable(const Identity& identity, const fs::path& workspace) {
  const auto staged = identity.staged.find(workspace);
  if (staged != identity.staged.end() && ::access(staged->second.c_str(), R_OK | X_OK) == 0) return;
  throw LaunchError("user " + std::to_string(identity.uid) + " cannot read the workspace " +
                        workspace.string() + ". Give it to that user: chown -R " +
                        std::to_string(identity.uid) + " " + workspace.string(),
                    2);
}

}  // namespace

Identity take_identity(const LaunchPlan& plan, const std::vector<fs::path>& sources) {
  if (::getuid() != 0 && ::geteuid() != 0) return Identity{::getuid(), ::getgid(), {}};

  Identity identity = choose_identity(plan);
  std::set<fs::path> writable{tidy(plan.spec.workspace)};
  for (const fs::path& path : plan.spec.read_write) writable.insert(tidy(path));
  for (const HomeTree& tree : plan.spec.home) {
    if (tree.access == HomeTree::Access::read_write) writable.insert(tidy(tree.source));
  }
  identity.staged = stage(sources, writable, Owner{identity.uid, identity.gid});
  mount_clone(plan, identity.staged);
  give_up_root(identity);
  check_reachable(identity, tidy(plan.spec.workspace));
  return identity;
}

}  // namespace warder
