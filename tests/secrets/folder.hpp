// A folder that goes with the test, and what a reading says.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "secrets/source.hpp"
#include "tests/support/catch.hpp"

namespace warder::test {

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "warder-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  Folder(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path file(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return path / name;
  }
  // An executable script of /bin/sh.
  std::filesystem::path script(const std::string& name, const std::string& lines) const {
    const auto at = file(name, "#!/bin/sh\n" + lines + "\n");
    std::filesystem::permissions(at, std::filesystem::perms::owner_all);
    return at;
  }
  std::filesystem::path path;
};

// The value, or "failing: " or "gone: " and the sentence.
inline std::string outcome(const Reading& reading) {
  switch (reading.state) {
    case Reading::State::failing: return "failing: " + reading.problem;
    case Reading::State::gone: return "gone: " + reading.problem;
    case Reading::State::value: break;
  }
  return reading.value->reveal([](std::string_view view) { return std::string(view); });
}
inline bool fails(const Reading& reading) { return reading.state == Reading::State::failing; }

}  // namespace warder::test
