// Why a host refuses what a sandbox needs, and what mends it: one table for the launcher's errors and `warder doctor`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace warder {

enum class Cause : std::uint8_t {
  unknown,
  userns_switched_off,
  userns_limit,
  netns_limit,
  apparmor,
  container_seccomp,
  seccomp,
  changed_root,
  no_userns,
  security_module,
  no_nf_tables,
  no_nf_tables_wsl,
  no_bubblewrap,
  old_bubblewrap,
  setuid_bubblewrap,
  masked_proc,
  root_in_container,
  memfd_noexec,
  locked_memory,
  state_directory,
  runtime_directory,
  no_entropy,
  wrong_clock,
  no_ipv6,
  no_landlock,
  no_cgroups,
  old_kernel,
  no_overlay,
  no_idmap,
};

struct Remedy {
  Cause cause;
  std::string_view name;   // the word for it in --json
  std::string_view why;    // half a sentence: "the sysctl … is 0"
  std::string_view fix;    // commands to paste, one a line; @SANDBOX@ is warder-sandbox's path
  std::string_view brief;  // one line for an error message; empty: the fix is short enough
};

std::span<const Remedy> remedies();
const Remedy& remedy(Cause cause);
// Cause::unknown for a word that no cause has.
Cause cause_named(std::string_view name);

// The commands, with this host's own path of warder-sandbox in them.
std::string fix_for(Cause cause, const std::filesystem::path& sandbox);
// "The sysctl … is 0. To mend it: sudo sysctl … (warder doctor says more)": one line. Empty when nothing is known.
std::string hint(Cause cause);

}  // namespace warder
