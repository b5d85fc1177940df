// After a run: what the sandbox made where nothing was, and what programs outside would run or believe, is taken back.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "protect/watched_tree.hpp"

namespace warder {

class TakeBack {
 public:
  // Writes down what is watched, so that the next run does the rest when this one is killed. `state`: Warder's own
  // directory, which no sandbox sees. Throws std::runtime_error.
  TakeBack(std::vector<WatchedTree> trees, const std::filesystem::path& state, std::string run);
  TakeBack(const TakeBack&) = delete;
  TakeBack& operator=(const TakeBack&) = delete;
  ~TakeBack();  // finish(), and nobody hears of it

  // Call it when nothing of the sandbox runs any more. What was done, line by line.
  std::vector<std::string> finish();

 private:
  std::vector<WatchedTree> trees_;
  std::filesystem::path state_;
  std::string run_;
  std::filesystem::path file_;  // empty: nothing is watched, or it is done
  Fd lock_;                     // of the file, as long as this run lives
};

// The same for runs that did not live to do it.
std::vector<std::string> take_back_for_killed(const std::filesystem::path& state);

}  // namespace warder
