// How a command prints: for people, or for programs.
#pragma once

#include <cstdint>

namespace warder {

enum class Json : std::uint8_t { no, yes };

}  // namespace warder
