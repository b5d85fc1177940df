#include "sandbox-launcher/remedies.hpp"

#include <algorithm>
#include <array>

namespace warder {
namespace {

constexpr std::string_view kPath = "@SANDBOX@";

// In the order of the enumeration. docs/doctor.md shows this table; a test compares them.
constexpr std::array kRemedies{
    Remedy{Cause::unknown, "unknown", "", "sudo dmesg | tail -n 30", ""},
    Remedy{Cause::userns_switched_off, "userns_switched_off",
           "the sysctl kernel.unprivileged_userns_clone is 0 (Debian's switch, hardened kernels)",
           "echo kernel.unprivileged_userns_clone=1 | sudo tee /etc/sysctl.d/60-warder.conf\n"
           "sudo sysctl --system",
           "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
    Remedy{Cause::userns_limit, "userns_limit",
           "no further user namespace may be made (user.max_user_namespaces, here or around this "
           "container)",
           "echo user.max_user_namespaces=10000 | sudo tee /etc/sysctl.d/60-warder.conf\n"
           "sudo sysctl --system",
           "sudo sysctl -w user.max_user_namespaces=10000"},
    Remedy{Cause::netns_limit, "netns_limit",
           "no further network namespace may be made (user.max_net_namespaces)",
           "echo user.max_net_namespaces=10000 | sudo tee /etc/sysctl.d/60-warder.conf\n"
           "sudo sysctl --system",
           "sudo sysctl -w user.max_net_namespaces=10000"},
    Remedy{Cause::apparmor, "apparmor",
           "AppArmor takes the capabilities of an unprivileged user namespace away (Ubuntu 24.04: "
           "the sysctl kernel.apparmor_restrict_unprivileged_userns is 1)",
           "sudo tee /etc/apparmor.d/warder-sandbox >/dev/null <<'END'\n"
           "abi <abi/4.0>,\n"
           "include <tunables/global>\n"
           "profile warder-sandbox \"@SANDBOX@\" flags=(unconfined) {\n"
           "  userns,\n"
           "}\n"
           "END\n"
           "sudo apparmor_parser -r /etc/apparmor.d/warder-sandbox",
           "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or better an AppArmor "
           "profile for warder-sandbox alone"},
    Remedy{Cause::container_seccomp, "container_seccomp",
           "the seccomp profile of the container that this is in refuses unshare(CLONE_NEWUSER)",
           "docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined "
           "IMAGE",
           ""},
    Remedy{Cause::seccomp, "seccomp",
           "a seccomp filter of whatever started this process refuses unshare(CLONE_NEWUSER)",
           "sudo systemctl set-property --runtime UNIT RestrictNamespaces=no   # a systemd "
           "service; anything else: start warder outside of it",
           "start warder outside of it; for a systemd service RestrictNamespaces=no"},
    Remedy{Cause::changed_root, "changed_root",
           "this is a chroot, in which the kernel makes no user namespaces",
           "sudo systemd-nspawn --directory=ROOT   # instead of chroot ROOT", ""},
    Remedy{Cause::no_userns, "no_userns",
           "this kernel has no user namespaces or no network namespaces (CONFIG_USER_NS, "
           "CONFIG_NET_NS)",
           "sudo apt-get install --yes linux-image-amd64 && sudo reboot",
           "boot the distribution's own kernel"},
    Remedy{Cause::security_module, "security_module",
           "a security module (AppArmor, SELinux) or a seccomp filter takes the capabilities of a "
           "user namespace away",
           "sudo dmesg | grep -iE 'apparmor|avc|seccomp' | tail -n 5   # names who refused", ""},
    Remedy{Cause::no_nf_tables, "no_nf_tables", "the kernel has no nf_tables with NAT loaded",
           "sudo modprobe -a nf_tables nft_chain_nat nft_redir\n"
           "printf 'nf_tables\\nnft_chain_nat\\nnft_redir\\n' | sudo tee "
           "/etc/modules-load.d/warder.conf",
           "sudo modprobe -a nf_tables nft_chain_nat nft_redir"},
    Remedy{Cause::no_nf_tables_wsl, "no_nf_tables_wsl",
           "this kernel of WSL2 has no nf_tables with NAT",
           "wsl.exe --update && wsl.exe --shutdown   # then, in the new one: sudo modprobe -a "
           "nf_tables nft_chain_nat nft_redir",
           ""},
    Remedy{Cause::no_bubblewrap, "no_bubblewrap", "bubblewrap is not installed as /usr/bin/bwrap",
           "sudo apt-get install --yes bubblewrap", ""},
    Remedy{Cause::old_bubblewrap, "old_bubblewrap",
           "this bubblewrap is older than 0.8, which Warder needs (--disable-userns)",
           "sudo apt-get update && sudo apt-get install --yes bubblewrap   # Debian 12, Ubuntu "
           "23.04 or newer",
           ""},
    Remedy{Cause::setuid_bubblewrap, "setuid_bubblewrap",
           "/usr/bin/bwrap is setuid root, and so refuses what Warder asks of it",
           "sudo chmod u-s /usr/bin/bwrap", ""},
    Remedy{Cause::masked_proc, "masked_proc",
           "the container that this is in hides parts of /proc and keeps /proc/sys read-only",
           "docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined "
           "IMAGE",
           ""},
    Remedy{Cause::root_in_container, "root_in_container",
           "root of this container may not do what Warder does as root (CAP_SYS_ADMIN, every user "
           "id mapped)",
           "docker run --user 1000 --security-opt seccomp=unconfined --security-opt "
           "systempaths=unconfined IMAGE",
           "start warder as an ordinary user there"},
    Remedy{Cause::memfd_noexec, "memfd_noexec",
           "the sysctl vm.memfd_noexec is 2: memory files are refused",
           "echo vm.memfd_noexec=1 | sudo tee /etc/sysctl.d/60-warder.conf\nsudo sysctl --system",
           "sudo sysctl -w vm.memfd_noexec=1"},
    Remedy{Cause::locked_memory, "locked_memory",
           "RLIMIT_MEMLOCK is too small to keep secrets out of the swap",
           "echo '* - memlock 65536' | sudo tee /etc/security/limits.d/60-warder.conf   # then log "
           "in again; a systemd service: LimitMEMLOCK=64M",
           ""},
    Remedy{Cause::state_directory, "state_directory",
           "the state directory cannot be written, or is open to others",
           "mkdir -p \"${XDG_STATE_HOME:-$HOME/.local/state}/warder\" && sudo chown -R \"$USER\" "
           "\"${XDG_STATE_HOME:-$HOME/.local/state}/warder\" && chmod 700 "
           "\"${XDG_STATE_HOME:-$HOME/.local/state}/warder\"",
           ""},
    Remedy{Cause::runtime_directory, "runtime_directory",
           "the runtime directory cannot be written, or is open to others",
           "export XDG_RUNTIME_DIR=$(mktemp -d)   # or: chmod 700 \"$XDG_RUNTIME_DIR/warder\"", ""},
    Remedy{Cause::no_entropy, "no_entropy", "the kernel's random numbers are not seeded yet",
           "sudo apt-get install --yes rng-tools5   # or wait: it is early after the boot", ""},
    Remedy{Cause::wrong_clock, "wrong_clock",
           "the clock is wrong, so certificates look expired or not valid yet",
           "sudo timedatectl set-ntp true   # or: sudo date -s '2026-12-01 12:00:00'", ""},
    Remedy{Cause::no_ipv6, "no_ipv6", "IPv6 is switched off",
           "sudo sysctl -w net.ipv6.conf.all.disable_ipv6=0 "
           "net.ipv6.conf.default.disable_ipv6=0   # and no ipv6.disable=1 on the kernel's "
           "command line",
           ""},
    Remedy{Cause::no_landlock, "no_landlock",
           "this kernel has no Landlock of version 2 (Linux 5.19), or it is not switched on",
           "cat /sys/kernel/security/lsm   # landlock is not in it: add lsm=landlock,… to the "
           "kernel's command line",
           ""},
    Remedy{Cause::no_cgroups, "no_cgroups",
           "no control group with memory and pids may be made here",
           "systemd-run --user --scope --property=Delegate=yes warder run …   # cgroup v1: sudo "
           "chown \"$USER\" on a group of memory and of pids",
           ""},
    Remedy{Cause::old_kernel, "old_kernel", "this kernel is too old for it", "uname -r", ""},
    Remedy{Cause::no_overlay, "no_overlay",
           "no overlay is mounted in a user namespace: the kernel is older than Linux 5.11, or the "
           "directory lies on an overlay itself, as in a container",
           "sudo modprobe overlay", ""},
    Remedy{Cause::no_idmap, "no_idmap",
           "this file system has no idmapped mounts, so as root Warder cannot show it to an "
           "ordinary user",
           "sudo -u \"$SUDO_USER\" warder run …   # as the owner; or: chown -R UID .", ""},
};

static_assert(std::is_sorted(kRemedies.begin(), kRemedies.end(),
                             [](const Remedy& a, const Remedy& b) { return a.cause < b.cause; }));
static_assert(static_cast<std::size_t>(kRemedies.back().cause) + 1 == kRemedies.size());

}  // namespace

std::span<const Remedy> remedies() { return kRemedies; }

const Remedy& remedy(Cause cause) { return kRemedies[static_cast<std::size_t>(cause)]; }

Cause cause_named(std::string_view name) {
  const auto* found = std::find_if(kRemedies.begin(), kRemedies.end(),
                                   [&](const Remedy& one) { return one.name == name; });
  return found == kRemedies.end() ? Cause::unknown : found->cause;
}

std::string fix_for(Cause cause, const std::filesystem::path& sandbox) {
  std::string text(remedy(cause).fix);
  const std::size_t at = text.find(kPath);
  if (at != std::string::npos) text.replace(at, kPath.size(), sandbox.string());
  return text;
}

std::string hint(Cause cause) {
  if (cause == Cause::unknown) return {};
  const Remedy& known = remedy(cause);
  const std::string_view fix = known.brief.empty() ? known.fix : known.brief;
  std::string why(known.why);
  if (why.front() >= 'a' && why.front() <= 'z')
    why.front() = static_cast<char>(why.front() - 'a' + 'A');
  return why + ". To mend it: " + std::string(fix) + " (warder doctor says more)";
}

}  // namespace warder
