// The parts of the configuration file, one function each. They throw ConfigError.
#pragma once

#include <vector>

#include "config/config.hpp"
#include "config/reader.hpp"

namespace warder {

std::vector<SecretConfig> read_secrets(const Reader& reader, const YamlNode& node);
std::vector<Rule> read_rules(const Reader& reader, const YamlNode& node);
// Grants name secrets that exist. Those of a client certificate are left out.
std::vector<Grant> read_grants(const Reader& reader, const YamlNode& node,
                               const std::vector<SecretConfig>& secrets);
// The others of the same list.
std::vector<CertificateGrant> read_certificate_grants(const Reader& reader, const YamlNode& node);
bool is_certificate_grant(const Reader& reader, const YamlNode& grant);
// And those of what token endpoints mint.
std::vector<Capture> read_captures(const Reader& reader, const YamlNode& node);
bool is_capture_grant(const Reader& reader, const YamlNode& grant);
Limits read_limits(const Reader& reader, const YamlNode& node);
// `sandbox` of a policy.
Bounds read_bounds(const Reader& reader, const YamlNode& node);
// What `warder check` asks of a policy.
std::vector<PolicyTest> read_policy_tests(const Reader& reader, const YamlNode& node);
// `at` of a grant.
std::vector<Place> read_places(const Reader& reader, const YamlNode& node);
// `ask` of a policy.
AskLimits read_ask(const Reader& reader, const YamlNode& node);
std::vector<HostPattern> read_hosts(const Reader& reader, const YamlNode& node);
// Where a value comes from; `in` begins each error: "source of secret 'x'".
SourceConfig read_source(const Reader& reader, const YamlNode& node, const std::string& in);
// Listeners name policies that exist.
std::vector<ListenerConfig> read_listeners(const Reader& reader, const YamlNode& node,
                                           const std::vector<PolicyConfig>& policies);
GatewayConfig read_gateway(const Reader& reader, const YamlNode& node,
                           const std::vector<PolicyConfig>& policies);

}  // namespace warder
