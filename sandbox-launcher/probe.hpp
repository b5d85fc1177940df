// What `warder doctor` has warder-sandbox try. It is tried in this executable because a security module may allow it to
// warder-sandbox alone.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sandbox-launcher/attempt.hpp"
#include "sandbox-launcher/identity.hpp"

namespace warder {

struct ProbePlace {
  std::filesystem::path scratch;    // a directory for what the tries write; the caller removes it
  std::filesystem::path workspace;  // where `warder doctor` was started
  Identity workload;                // who CMD would be
  bool root = false;
};

using Try = std::function<std::string()>;

struct NamedTry {
  std::string name;
  Try what;
};

std::vector<NamedTry> namespace_tries(const ProbePlace& place);
std::vector<NamedTry> kernel_tries(const ProbePlace& place);
std::vector<NamedTry> cgroup_tries(const ProbePlace& place);
std::vector<NamedTry> tries_inside();  // in a sandbox that stands

// `warder-sandbox --probe SCRATCH WORKSPACE SUDO_UID`: a line of JSON for each try on standard output.
int probe(const std::filesystem::path& scratch, const std::filesystem::path& workspace,
          const std::string& sudo_uid);
// `--probe-inside`, as CMD of a sandbox.
int probe_inside();

}  // namespace warder
