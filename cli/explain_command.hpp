// `warder explain`: what would become of a request, and why. Asks nobody and sends nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/output.hpp"

namespace warder {

struct ExplainArgs {
  std::filesystem::path config = "warder.yaml";
  std::string policy;  // empty: the only one
  std::string url;
  std::string method = "GET";
  std::vector<std::string> headers;  // "Name: value"
  std::uint64_t body_size = 0;
  Json json = Json::no;
};

// 0: the policy allows it, or somebody is asked; 1: it is refused; 2: what was asked, or the
// configuration, cannot be used.
int explain_command(const ExplainArgs& args);

}  // namespace warder
