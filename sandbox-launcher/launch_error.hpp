// A step of the launch that failed: which, why, what to do. Nothing has run.
#pragma once

#include <stdexcept>
#include <string>

#include "sandbox-launcher/remedies.hpp"

namespace warder {

struct LaunchError : std::runtime_error {
  // "cannot make a user namespace: Operation not permitted. AppArmor …"
  explicit LaunchError(const std::string& message, int code = 125)
      : std::runtime_error(message), exit_code(code), failure(message) {}
  int exit_code;
  std::string failure;  // "cannot STEP: strerror(errno)", without what mends it
  int error = 0;        // errno of the step, where there is one
  Cause cause = Cause::unknown;
};

// "cannot STEP: strerror(errno)[. REMEDY]"
LaunchError launch_error(const std::string& step, const std::string& remedy = {});
// The same for a cause of the table, with its hint.
LaunchError launch_error(const std::string& step, Cause cause);
// memfd_create(2) failed.
LaunchError memory_file_error(const std::string& step);

}  // namespace warder
