// How the configuration was understood, for a person: every rule and grant with its defaults
// spelled out.
#pragma once

#include <string>

#include "config/config.hpp"

namespace warder {

// Lines such as "  allow  api.test : 443 (TLS), 80 (clear text) · GET, POST · /v1/**   [api,
// warder.yaml:5]".
std::string summary(const Config& config);

}  // namespace warder
