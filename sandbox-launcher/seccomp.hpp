// The system calls that a workload has no use for, refused.
#pragma once

#include "base/fd.hpp"

namespace warder {

// Are its processors chosen for it? Then it cannot choose others.
enum class Pinned : bool { no, yes };

// CMD's process group: does it share one with processes of the host? Then it cannot signal it as a whole.
enum class Group : bool { own, shared };

// The filter as a BPF program in a memfd, for bubblewrap's --seccomp. Throws LaunchError.
Fd seccomp_program(Pinned pinned = Pinned::no, Group group = Group::own);

}  // namespace warder
