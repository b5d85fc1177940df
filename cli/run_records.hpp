// What a sandbox's programs did, in the audit log: executed, ended, files changed. Secrets masked, and bounded: a sandbox
// does not fill the disk with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "audit/log.hpp"
#include "cli/file_changes.hpp"
#include "sandbox-launcher/exec_report.hpp"

namespace warder {

// Of one session, for one thread.
class RunRecords {
 public:
  // Who says so: our own launcher, or a `warder run --gateway` that this gateway has to believe.
  enum class Teller : std::uint8_t { launcher, runner };
  static constexpr unsigned kAlone =
      20;  // equal executions in a second that have a record of their own
  static constexpr std::uint64_t kMostRecords = 100'000;
  static constexpr std::uint64_t kMostBytes = 64 << 20;  // of arguments, paths and directories
  static constexpr unsigned kMostUnwritten = 256;        // the programs wait for the log then

  // Any text of the sandbox's, without its secrets.
  using Shown = std::function<std::string(const std::string&)>;
  RunRecords(audit::Log& log, std::string session, Shown shown, Teller teller);
  ~RunRecords();
  RunRecords(const RunRecords&) = delete;

  // One packet (exec_report.hpp). False: it is none.
  bool take(std::string_view packet);
  // Once a second: what was only counted.
  void tick();
  void changed(const FileChanges& what);
  // Waits until everything is written. False: something could not be.
  bool finish();
  // Its own part.
  void sum_up(audit::SessionEnd& end) const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Unwritten;  // shared with the log's thread
  struct Equal {
    unsigned alone = 0;
    std::uint64_t counted = 0;
    audit::Exec last;
  };
  void begun(const ExecBegun& what);
  void ended(const ExecEnded& what);
  bool is_over_the_cap(const audit::Exec& exec);
  void record_repeated();
  void record_lost();
  void append(audit::Record record);
  std::string told_by() const;

  audit::Log& log_;
  const std::string session_;
  const Shown shown_;
  const Teller teller_;
  std::shared_ptr<Unwritten> unwritten_;
  std::unordered_map<std::string, Equal> equals_;  // of this second
  Time second_{};
  std::unordered_map<std::uint32_t, std::uint64_t>
      running_;  // process → its execution, where that is recorded
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
  bool capped_ = false;
  std::uint64_t execs_ = 0;
  std::uint64_t missing_ = 0;
  std::uint64_t files_ = 0;
  std::string how_ = "killed";
};

}  // namespace warder
