// `warder preset list` and `warder preset show NAME`: what comes with Warder, to read before it is included.
#pragma once

#include <string>

namespace warder {

struct PresetShowArgs {
  std::string name;  // with or without "preset/" or "profile/"
};

int preset_list_command();
int preset_show_command(const PresetShowArgs& args);

}  // namespace warder
