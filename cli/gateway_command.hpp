// `warder gateway`: the gateway as a daemon, for sandboxes that others run and for many runs at once.
#pragma once

#include <string>

namespace warder {

struct GatewayArgs {
  std::string config;
  std::string directory;  // --directory; empty: $XDG_RUNTIME_DIR/warder, else state_directory()/run
  int drain_seconds = 30;
  bool watch = false;  // --watch: the file is read again when it changes
};

// In the foreground until SIGTERM or SIGINT, then drains. SIGHUP: reads the configuration again. 0; 2 for a configuration that cannot be used, 125 when
// Warder itself failed.
int gateway_command(const GatewayArgs& args);

}  // namespace warder
