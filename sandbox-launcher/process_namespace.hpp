// A process namespace around everything of one run: whoever of it dies first, the kernel ends the rest.
#pragma once

namespace warder {

// What the first process of that namespace says on the status socket, which tells `warder` its process id.
inline constexpr const char* kFirstLine = "{ \"first\": 1 }\n";

// The kernel forgets the parent-death signal whenever credentials change: said again after each such step.
void die_with_parent();

// Forks. Returns in the child, the first process of a new namespace, which dies with its parent: whatever it executes,
// and all that comes from that, has no life beyond it. The parent lets go of the two sockets, waits, and ends as the
// child did. Throws LaunchError. No thread can be started between this and the next execve().
void enter_process_namespace(int control, int status, int reports);

}  // namespace warder
