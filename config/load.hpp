// Reads the configuration strictly: an unknown key, a wrong type, an unknown secret or a
// contradiction is one error with file:line:column and a suggestion, and nothing is used.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace warder {

// What a configuration file holds, at most a byte more than one may. Throws ConfigError, also for what is no regular
// file.
std::string config_bytes(const std::filesystem::path& file);

// Throws ConfigError. Relative paths resolve against the file's directory.
Config load_config(const std::filesystem::path& file);
Config parse_config(std::string bytes, const std::filesystem::path& file);

// What `warder run` was told without a file.
struct RunFlags {
  std::vector<std::string> allow;    // HOST[:PORT]
  std::vector<std::string> secrets;  // ENV@HOST[,HOST…]
};
// Adds to `config`'s policy `policy_name` (made when missing) a rule per --allow and per --secret,
// and a secret and grant per --secret. Throws ConfigError that quotes the flag.
void apply_flags(Config& config, const std::string& policy_name, const RunFlags& flags);

// Lines for a person, each behind "# ". Any bytes may be in them, since none but plain ASCII is
// written as it is: no line ends early, and no terminal obeys one.
struct YamlComments {
  std::vector<std::string> head;
  std::map<std::string, std::vector<std::string>> of_rule;  // by its name, before it
};

// The YAML that would give the same policy: what --print-config prints. Loads again to an equal
// config.
std::string to_yaml(const Config& config, const std::string& policy_name,
                    const YamlComments& comments = {});

}  // namespace warder
