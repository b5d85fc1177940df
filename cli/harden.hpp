// Makes this process one that nobody can look into: it will hold secrets.
#pragma once

#include <string>

namespace warder {

// Not dumpable (no ptrace, no core, /proc/PID closed to others), no core files, the full number of open files.
void harden_process();

// Descriptors 0, 1 and 2 that the caller closed become /dev/null: else the next file opened, the audit log say, would
// be what messages are printed to.
void hold_standard_descriptors();

// Empty, or why the sandbox may not inherit descriptor 0, 1 or 2: a directory leads to everything beside it.
std::string refuse_standard_descriptors();

}  // namespace warder
