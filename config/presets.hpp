// What comes with Warder and is included by name: presets (the rules of one service) and profiles (what one agent needs).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/reader.hpp"

namespace warder {

// What an includer fills in. Its values stand for ${name} in hosts and paths.
struct PresetParameter {
  std::string name;
  std::string pattern;  // ECMAScript, over the whole value
  std::string example;
  std::string about;
};

struct Preset {
  std::string name;  // "preset/npm", "profile/claude-code"
  std::string_view text;
  std::string version;
  std::string about;
  std::string source;  // what its rules are based on
  std::vector<PresetParameter> parameters;
  YamlNode root;  // the whole document; `include` and `rules` are read by config/include.hpp
};

using PresetArguments = std::map<std::string, std::vector<std::string>>;

std::vector<std::string> preset_names();   // "preset/…"
std::vector<std::string> profile_names();  // "profile/…"
// Is the place of a rule ("preset/npm:12", "warder.yaml:5") in a built-in file?
bool is_built_in(std::string_view where);
// nullopt: there is none of that name. Throws ConfigError where a built-in file is wrong, which the tests rule out.
std::optional<Preset> find_preset(std::string_view name);

// Why `value` may not stand for a parameter, as the end of a sentence; empty: it may. Whatever the pattern says, a value
// holds no wildcard, no escape and no dot segment, so that a rule never means more than its file shows.
std::string refuse_argument(const PresetParameter& parameter, const std::string& value);
// `rules` with every host and path that names parameters written out, once for each of their values.
YamlNode filled_in(const YamlNode& rules, const PresetArguments& arguments);

}  // namespace warder
