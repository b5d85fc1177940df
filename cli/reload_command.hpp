// `warder reload`: has a running gateway, or a run, read its configuration again.
#pragma once

#include <string>

namespace warder {

struct ReloadArgs {
  std::string gateway;  // --gateway SOCK; empty: the only one of this user's that runs
};

// 0: what it says counts from now on. 2: it was refused, and nothing has changed.
int reload_command(const ReloadArgs& args);

}  // namespace warder
