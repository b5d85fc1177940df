// A secret that a helper program tells: run without a shell, again before its answer is too old.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "secrets/helper_reply.hpp"
#include "secrets/source.hpp"

namespace warder {

struct ExecParts {
  std::string secret;             // its name, told to the helper as WARDER_SECRET
  std::filesystem::path program;  // absolute
  std::vector<std::string> argv;  // [0] included
  HelperFormat format = HelperFormat::plain;
  std::string host;  // for the formats that ask for one
  std::chrono::milliseconds timeout{};
  std::optional<std::chrono::milliseconds> cache;  // how long an answer is good; none: for ever
  // The variables that it gets besides WARDER_SECRET, "NAME=value\0" each; asked before each start, on its thread.
  std::function<std::vector<WipedBytes>()> variables;
};

std::unique_ptr<SecretSource> exec_source(ExecParts parts);

}  // namespace warder
