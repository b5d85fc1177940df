// Makes this process one that nobody can look into: it will hold secrets.
#pragma once

namespace warder {

// Not dumpable (no ptrace, no core, /proc/PID closed to others), no core files, the full number of open files.
void harden_process();

}  // namespace warder
