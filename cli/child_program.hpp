// Runs a program to its end and takes what it printed.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace warder {

struct ChildProgram {
  std::vector<std::string> argv;                   // the first is its path
  std::map<std::string, std::string> environment;  // besides, or instead of, this process's own
  std::filesystem::path directory;
  std::chrono::seconds longest{20};
};

struct ChildResult {
  int code = -1;  // 128+n for a signal; -1: it did not start, or had to be killed
  std::string out;
  std::string err;
};

ChildResult run_program(const ChildProgram& program);

}  // namespace warder
