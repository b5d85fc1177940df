#include "sandbox-launcher/probe.hpp"

#include <unistd.h>

#include <cstdio>

namespace warder {
namespace {

void print(const Attempt& attempt) {
  std::fputs(to_line(attempt).c_str(), stdout);
  std::fflush(stdout);
}

void try_all(const std::vector<NamedTry>& tries) {
  for (const NamedTry& each : tries) print(attempt(each.name, each.what));
}

}  // namespace

int probe(const std::filesystem::path& scratch, const std::filesystem::path& workspace,
          const std::string& sudo_uid) {
  ProbePlace place{scratch, workspace, {::getuid(), ::getgid(), {}}, false};
  place.root = ::getuid() == 0 || ::geteuid() == 0;
  try {
    if (place.root) {
      LaunchPlan plan;
      plan.spec.workspace = workspace;
      plan.sudo_uid = sudo_uid;
      place.workload = choose_identity(plan);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "warder-sandbox: %s\n", error.what());
    return 1;
  }
  try_all(namespace_tries(place));
  try_all(kernel_tries(place));
  try_all(cgroup_tries(place));
  return 0;
}

int probe_inside() {
  try_all(tries_inside());
  return 0;
}

}  // namespace warder
