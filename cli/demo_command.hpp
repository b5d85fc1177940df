// `warder demo`: an origin of its own on loopback, a sandbox, and what happens between them, side by side.
#pragma once

#include "cli/output.hpp"

namespace warder {

struct DemoArgs {
  Json json = Json::no;
};

// 0 when everything happened as promised; 1 when any part of it did not; 125 when the demo could not run.
int demo_command(const DemoArgs& args);

}  // namespace warder
