// The system calls that a workload has no use for, refused.
#pragma once

#include "base/fd.hpp"

namespace warder {

// The filter as a BPF program in a memfd, for bubblewrap's --seccomp. Throws LaunchError.
Fd seccomp_program();

}  // namespace warder
