// The first process inside a sandbox: starts CMD, reaps, passes signals on, and ends with CMD's exit code.
#pragma once

#include "sandbox-launcher/plan.hpp"

namespace warder {

// What it writes to the status socket once it takes signals: `warder` sends CMD's to whoever says this.
inline constexpr const char* kInitLine = "{ \"init\": 1 }\n";
// What it writes when CMD stops (Ctrl-Z): `warder` then stops too, and the shell has its job.
inline constexpr const char* kStoppedLine = "{ \"stopped\": 1 }\n";
// The value of the SIGCONT that continues it: whether CMD gets the terminal back.
enum class Continued : int { in_background = 0, in_foreground = 1 };

// reports: the socket that what is executed is told on (exec_report.hpp). argv: CMD and its arguments, null-terminated. Returns CMD's exit code, 128+n for a signal, 126 or 127 (with a line on
// stderr) when it cannot be executed. Returning ends the sandbox: the kernel kills what is left.
int run_init(char** argv, Foreground foreground, int status, int reports,
             const InsideBounds& bounds);

}  // namespace warder
