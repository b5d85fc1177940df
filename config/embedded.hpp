// The files below config/presets, as they were when the program was built (tools/cmake/embed_presets.cmake).
#pragma once

#include <span>
#include <string_view>

namespace warder {

struct EmbeddedFile {
  std::string_view name;  // without ".yaml"
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_presets();
std::span<const EmbeddedFile> embedded_profiles();

}  // namespace warder
