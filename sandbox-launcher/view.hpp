// The file view of a sandbox as an ordered list of bubblewrap operations: an allow-list, built on an empty root.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "sandbox-launcher/plan.hpp"

namespace warder {

struct View {
  std::vector<std::string>
      arguments;  // bubblewrap's, in order: --tmpfs …, --ro-bind A B, --ro-bind-data FD PATH …
  std::vector<Fd>
      data;          // the memfds that `arguments` name; must stay open until bubblewrap has them
  std::string path;  // PATH as it makes sense inside
};

// Every host path that make_view() will bind from, besides /usr, /bin, /lib*, /opt and /etc: workspace, --ro, --rw, tool
// directories on PATH. As root they are opened before the uid drops (identity.hpp).
std::vector<std::filesystem::path> bind_sources(const LaunchPlan& plan);

// `source_of` gives the path to bind a host path from: itself, or where it was staged. `uid`/`gid`: the workload's.
// Throws LaunchError.
View make_view(const LaunchPlan& plan,
               const std::function<std::string(const std::filesystem::path&)>& source_of, uid_t uid,
               gid_t gid);

// A sentence when `workspace` may not be one: "/", the caller's home, /tmp … (says --rw). Empty: fine.
std::string refuse_workspace(const std::filesystem::path& workspace,
                             const std::filesystem::path& home);

}  // namespace warder
