// From what the kernel refused, at which step, to the cause: what was tried decides, the facts of the host tell apart.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "sandbox-launcher/launch_error.hpp"
#include "sandbox-launcher/remedies.hpp"

namespace warder {

// What tells causes apart that look the same at the step that failed.
struct HostFacts {
  std::optional<long> userns_clone;        // kernel.unprivileged_userns_clone
  std::optional<long> apparmor_restricts;  // kernel.apparmor_restrict_unprivileged_userns
  std::optional<long> most_netns;          // user.max_net_namespaces
  std::optional<long> memfd_noexec;        // vm.memfd_noexec
  bool filtered = false;                   // a seccomp filter is on this process
  bool changed_root = false;               // a chroot
  bool wsl = false;
  std::string container;  // "docker", "podman", "kubernetes", "container"; empty: in none
};

// `root`: where /proc and the rest are looked for; "/" but in tests.
HostFacts read_host_facts(const std::filesystem::path& root = "/");

enum class Step : std::uint8_t {
  user_namespace,     // unshare(2) with CLONE_NEWUSER
  user_map,           // setgroups, uid_map, gid_map
  network_namespace,  // unshare(2) with CLONE_NEWNET
  network,            // whatever needs CAP_NET_ADMIN in the new namespace: RTM_NEWADDR, nf_tables
};

Cause cause_of(Step step, int error, const HostFacts& facts);

// "cannot WHAT: strerror(errno). WHY. To mend it: …", with its errno and cause. Reads errno first.
LaunchError refusal(Step step, const std::string& what);

// "… Operation not permitted" → EPERM: what programs and libraries make of an errno. 0: none of the usual ones.
int error_in(const std::string& text);

}  // namespace warder
