// Keeps CMD to the files of its own view: a descriptor that the caller passed names a file of the host, and /proc/self/fd
// would open it again, for writing too.
#pragma once

namespace warder {

// Of the kernel's Landlock; below 1 where it has none, with errno.
int landlock_version();

// To be called in CMD's own process before it is executed. What lies in the view stays as it is; the files behind
// descriptors 0, 1 and 2 can be opened again only as they were opened; every other file of the host not at all. Where the
// kernel has no Landlock of version 2 (Linux 5.19) nothing changes. False: it has, and does not do it.
bool confine_to_view();

}  // namespace warder
