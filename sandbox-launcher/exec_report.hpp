// What the first process of a sandbox tells of the programs that run in it: one packet each, bounded, and read strictly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace warder {

// How much of one execution is told. A record keeps less (audit/FORMAT.md).
inline constexpr std::size_t kMostPathBytes = 4096;
inline constexpr std::size_t kMostArguments = 256;
inline constexpr std::size_t kMostArgumentBytes = 2048;  // of one
inline constexpr std::size_t kMostCommandBytes = 8192;   // of all
inline constexpr std::size_t kMostPacketBytes = 24 * 1024;

// A process is about to become another program. Process ids are the sandbox's own.
struct ExecBegun {
  std::uint64_t exec = 0;  // 1, 2, 3 …
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;
  std::string path;  // as the program gave it; of a descriptor: what it leads to
  std::string cwd;
  std::vector<std::string> argv;
  std::uint32_t left_out = 0;  // arguments that are not in argv
  bool unread = false;         // the process is closed to others: path and argv are not known
};

// The process whose last execution was `exec` has ended.
struct ExecEnded {
  std::uint64_t exec = 0;
  std::uint32_t pid = 0;
  std::int32_t exit_code = -1;  // 128+n for a signal; -1: not known
  std::uint32_t signal = 0;     // that ended it; 0: none
};

// The last word: CMD has ended, and everything with it.
struct ExecsDone {
  std::uint64_t execs = 0;
  std::uint64_t missing = 0;    // answered with "no such file", and not counted above
  std::int32_t exit_code = -1;  // of CMD
  std::uint32_t signal = 0;
};

using ExecReport = std::variant<ExecBegun, ExecEnded, ExecsDone>;

std::string encode(const ExecReport& report);
// nullopt: it is none.
std::optional<ExecReport> decode_exec_report(std::string_view packet);

}  // namespace warder
