// A step of the launch that failed: which, why, what to do. Nothing has run.
#pragma once

#include <stdexcept>
#include <string>

namespace warder {

struct LaunchError : std::runtime_error {
  // "cannot make a user namespace: Operation not permitted. On Ubuntu 24.04 …"
  explicit LaunchError(const std::string& message, int code = 125)
      : std::runtime_error(message), exit_code(code) {}
  int exit_code;
};

// "cannot STEP: strerror(errno)[. REMEDY]"
LaunchError launch_error(const std::string& step, const std::string& remedy = {});

}  // namespace warder
