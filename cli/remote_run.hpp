// `warder run --gateway`: one command in one sandbox behind a gateway that runs already. This process holds no secret.
#pragma once

#include <filesystem>

#include "cli/sandboxed_run.hpp"

namespace warder {

// `spec.config` is not looked at: the gateway's counts. Throws ConfigError (exit 2) or RunRefused.
RunOutcome run_behind_gateway(const RunSpec& spec, const std::filesystem::path& socket);

}  // namespace warder
