// Tries something in a process of its own, so that nothing of it is left here, and says how it went.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox-launcher/launch_error.hpp"

namespace warder {

// missing: the host does not have it. refused: it has, and said no.
enum class Outcome : std::uint8_t { ok, missing, refused };
std::string_view to_string(Outcome outcome);

struct Attempt {
  std::string name;
  Outcome outcome = Outcome::ok;
  int error = 0;     // errno, where there is one
  std::string said;  // what failed; or a detail, such as a version
  Cause cause = Cause::unknown;
  double milliseconds = 0;
};

// What a try throws when the host does not have it, whatever its errno says.
struct Missing : LaunchError {
  Missing(const std::string& message, Cause why, int number = 0) : LaunchError(message) {
    error = number;
    cause = why;
  }
};
// errno becomes "cannot STEP: …" of this cause.
[[noreturn]] void fail(const std::string& step, Cause why);

// Forks; `what` returns a detail or throws. A try that hangs is killed after ten seconds, with all its children.
Attempt attempt(const std::string& name, const std::function<std::string()>& what);

// One line of JSON each.
std::string to_line(const Attempt& attempt);
std::vector<Attempt> from_lines(const std::string& text);

}  // namespace warder
