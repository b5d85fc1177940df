// `warder approve`: what waits for an answer at the gateways that run, and the answers.
#pragma once

#include <string>

#include "cli/output.hpp"

namespace warder {

struct ApproveArgs {
  std::string id;       // or the beginning of one; empty: all
  std::string gateway;  // --gateway SOCK; empty: every gateway of this user
  std::string time;     // --for; empty: once
  bool deny = false;
  bool watch = false;
  Json json = Json::no;
};

// 0; 2 for a command line that cannot be used, or a question that is not open; 125 when Warder itself failed.
int approve_command(const ApproveArgs& args);

}  // namespace warder
