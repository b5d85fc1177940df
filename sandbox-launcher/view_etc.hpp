// The /etc of a sandbox: entry by entry what everybody on the host may read, and our own names, users and trust.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "sandbox-launcher/spawn.hpp"
#include "sandbox-launcher/view_builder.hpp"

namespace warder {

struct EtcPlan {
  std::filesystem::path host_etc = "/etc";  // what is read; always shown as /etc
  uid_t uid = 0;
  gid_t gid = 0;
  std::set<std::filesystem::path> hidden;  // directories below host_etc that must look empty
};

// Leaves /etc writable for the mounts that follow: the caller makes the root read-only at the end.
void add_etc(ViewBuilder& view, const SandboxSpec& spec, const EtcPlan& plan);

}  // namespace warder
