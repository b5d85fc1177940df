// `warder check`: does the configuration load, does it say what it means, and do its own tests hold?
#pragma once

#include <filesystem>
#include <string>

#include "cli/output.hpp"

namespace warder {

enum class Strict : bool { no, yes };

struct CheckArgs {
  std::filesystem::path config = "warder.yaml";
  std::string policy;  // empty: all of them
  Strict strict = Strict::no;
  Json json = Json::no;
};

// 0: nothing is wrong, or there are warnings and strict is no; 1: a test fails, or there is a warning
// and strict is yes; 2: the configuration does not load.
int check_command(const CheckArgs& args);

}  // namespace warder
