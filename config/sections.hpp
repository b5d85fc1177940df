// The parts of the configuration file, one function each. They throw ConfigError.
#pragma once

#include <vector>

#include "config/config.hpp"
#include "config/reader.hpp"

namespace warder {

std::vector<SecretConfig> read_secrets(const Reader& reader, const YamlNode& node);
std::vector<Rule> read_rules(const Reader& reader, const YamlNode& node);
// Grants name secrets that exist.
std::vector<Grant> read_grants(const Reader& reader, const YamlNode& node,
                               const std::vector<SecretConfig>& secrets);
std::vector<HostPattern> read_hosts(const Reader& reader, const YamlNode& node);
GatewayConfig read_gateway(const Reader& reader, const YamlNode& node);

}  // namespace warder
