// Does one pattern match all that another matches? "No" may also mean "not known": what is said to be
// covered is.
#pragma once

#include "policy/host_pattern.hpp"
#include "policy/path_pattern.hpp"

namespace warder {

bool covers(const HostPattern& wide, const HostPattern& narrow);
// Of paths as they are sent. What has no escape is then covered in all forms, too.
bool covers(const PathPattern& wide, const PathPattern& narrow);

}  // namespace warder
