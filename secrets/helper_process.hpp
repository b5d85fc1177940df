// Runs one helper program to its end: no shell, bounded time and output, a process group that is killed as a whole.
#pragma once

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "secrets/wiped.hpp"

namespace warder {

struct HelperCall {
  std::filesystem::path program;      // absolute
  std::vector<std::string> argv;      // [0] included
  std::vector<WipedBytes> variables;  // "NAME=value\0", all that it gets
  std::string input;                  // on its standard input, at most 4096 bytes
  std::size_t most = 0;  // bytes of standard output that are taken; one more is an error
  std::chrono::milliseconds timeout{};
};

struct HelperResult {
  std::string
      problem;  // empty: it ended with 0 and `output` is whole; else the end of "the helper …"
  WipedBytes output;
  WipedBytes errors;  // the first kMostHelperErrors bytes of its standard error
};

inline constexpr std::size_t kMostHelperErrors = 2048;

// Works in "/", with no descriptor but the three standard ones and no signal blocked. Returns when the program has ended
// and been waited for: at the latest at `timeout`, or when `stop` is requested (within 50 ms), by killing its group.
// A process that it left behind in the background is killed too; one that made a session of its own is not found.
HelperResult run_helper(const HelperCall& call, const std::stop_token& stop);

}  // namespace warder
