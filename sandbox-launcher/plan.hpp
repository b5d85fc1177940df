// What `warder` tells `warder-sandbox`: the whole plan as one value, as JSON on the control socket.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "sandbox-launcher/spawn.hpp"

namespace warder {

// Of the words between the two programs: raised whenever they change.
inline constexpr int kLaunchProtocol = 4;

struct LaunchPlan {
  SandboxSpec spec;
  // Of the caller: warder-sandbox itself is started with an empty environment.
  std::string caller_home;  // $HOME, absolute, may be empty
  std::string caller_path;  // $PATH
  std::string sudo_uid;     // $SUDO_UID when started as root; may be empty
  Foreground foreground = Foreground::no;
  InsideBounds inside{};
};

std::string to_json(const LaunchPlan& plan);
// Throws std::runtime_error on anything it does not know.
LaunchPlan plan_from_json(std::string_view json);

}  // namespace warder
