// What was gathered as a configuration file, with the evidence as comments.
#pragma once

#include <cstdint>
#include <string>

#include "cli/observations.hpp"
#include "config/config.hpp"

namespace warder {

// "1 record", "7 records"
std::string counted(std::uint64_t count, const std::string& one, const std::string& many);

// The policy of that name, made when it is missing.
PolicyConfig& policy_of(Config& config, const std::string& name);

// `config` with the policy of that name as it was learned: all else is kept, `mode` is enforce. Throws ConfigError for
// what would not load, so that nothing else is ever written.
std::string learned_yaml(Config config, const std::string& name, const Gathered& gathered);

}  // namespace warder
