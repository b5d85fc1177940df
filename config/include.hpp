// `include`: the rules of presets, profiles and other policies of the same file, behind a policy's own.
#pragma once

#include <vector>

#include "config/config.hpp"
#include "config/presets.hpp"

namespace warder {

// `policies` were read from `node`, each with its own rules; adds those that they include. An include brings rules and
// nothing else: no secret, no grant. Throws ConfigError.
void add_includes(const Reader& reader, const YamlNode& node, std::vector<PolicyConfig>& policies);

// The rules of a preset or profile and of what it includes itself, each named and placed as its includer will see it:
// "npm.read", "preset/npm:12".
std::vector<Rule> preset_rules(const Preset& preset, const PresetArguments& arguments);

}  // namespace warder
