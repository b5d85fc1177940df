// `warder init`: writes the first warder.yaml of a project.
#pragma once

#include <filesystem>

namespace warder {

struct InitArgs {
  std::filesystem::path directory = ".";
};

// 0: written; 2: there is one already, or it cannot be written.
int init_command(const InitArgs& args);

}  // namespace warder
