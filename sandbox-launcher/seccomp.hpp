// The system calls that a workload has no use for, refused.
#pragma once

#include "base/fd.hpp"

namespace warder {

// Are its processors chosen for it? Then it cannot choose others.
enum class Pinned : bool { no, yes };

// The filter as a BPF program in a memfd, for bubblewrap's --seccomp. Throws LaunchError.
Fd seccomp_program(Pinned pinned = Pinned::no);

}  // namespace warder
