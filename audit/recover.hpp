// Takes an existing audit file up again: reads the chain back, puts a torn tail aside.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "audit/format.hpp"

namespace warder::audit {

struct Recovered {
  Chain chain;
  std::string origin;      // empty: the file held no whole line
  bool clean = false;      // it was closed
  std::uint64_t size = 0;  // bytes of whole lines
  std::optional<Repair> repair;
};

// `fd` is open for reading and writing, and locked. Throws std::runtime_error when anything but the
// tail is broken: such a file is evidence, and nothing is appended to it.
Recovered recover(int fd, const std::filesystem::path& file, const VerifierKey& key);

}  // namespace warder::audit
