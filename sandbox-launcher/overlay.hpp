// `--clone`: the workspace as an overlay, whose lower layer is the host's tree and is never written.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sandbox-launcher/plan.hpp"

namespace warder {

// What the overlay is made of, in SandboxSpec::clone.
inline constexpr const char* kUpperName = "upper";
inline constexpr const char* kWorkName = "work";

// Refuses a workspace that holds mounts of others: an overlay shows what lies under them. Throws LaunchError.
void check_clone(const LaunchPlan& plan, const std::string& mountinfo);
void check_clone(const LaunchPlan& plan);

// Mounts the overlay beside what was staged (staging.hpp); `staged` then leads to it for the workspace, and no longer to
// the directory of the layers. Nothing without a clone in the plan. Throws LaunchError.
void mount_clone(const LaunchPlan& plan, std::map<std::filesystem::path, std::string>& staged);

}  // namespace warder
