// A name from a tree that somebody else may have written, as it may stand on a terminal.
#pragma once

#include <filesystem>
#include <string>

namespace warder {

inline std::string printable(const std::filesystem::path& path) {
  std::string text = path.string();
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return text;
}

}  // namespace warder
