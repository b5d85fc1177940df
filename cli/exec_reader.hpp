// Takes what a sandbox's first process tells, on a thread of its own, until the sandbox has ended.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.hpp"

namespace warder {

class ExecReader {
 public:
  static constexpr std::size_t kMostAtOnce = 64;
  // Several packets, whatever has come; or none, once a second. False: they cannot be taken, and none will be any more.
  using Take = std::function<bool(const std::vector<std::string>& packets)>;

  // `reports`: Sandbox::take_reports().
  ExecReader(Fd reports, Take take);
  ~ExecReader();
  ExecReader(const ExecReader&) = delete;
  // After the sandbox has ended: until its last word has been taken.
  void join();

 private:
  void run();

  Fd reports_;
  Take take_;
  std::thread thread_;
};

}  // namespace warder
