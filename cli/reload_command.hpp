// `warder reload`: has a running gateway read its configuration again.
#pragma once

#include <string>

namespace warder {

inline constexpr const char* kReloadPath = "/v1/reload";

struct ReloadArgs {
  std::string gateway;  // --gateway SOCK; empty: the user's own
};

// 0: what it says counts from now on. 2: it was refused, and nothing has changed.
int reload_command(const ReloadArgs& args);

}  // namespace warder
