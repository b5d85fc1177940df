// What one agent needs: a policy, secrets, and which of its own files and how. Built in, below config/presets/agents.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace warder {

// A file or directory of the caller's home, shown at the same place in the sandbox's own.
struct HomePlace {
  enum class How : std::uint8_t {
    read_only,
    private_copy,  // as it was at the start; what becomes of it inside is thrown away
    kept,          // the directory itself, written
  };
  std::string path;  // relative to the home, plain: ".claude/projects"
  How how = How::read_only;
  friend bool operator==(const HomePlace&, const HomePlace&) = default;
};
constexpr std::string_view to_string(HomePlace::How how) {
  switch (how) {
    case HomePlace::How::read_only: return "read-only";
    case HomePlace::How::private_copy: return "private-copy";
    case HomePlace::How::kept: return "kept";
  }
  return "read-only";
}

struct Profile {
  std::string name;  // "claude-code"
  std::string about;
  std::vector<std::string> commands;  // programs that it is for
  std::vector<Rule> rules;            // what it includes, too
  std::vector<SecretConfig> secrets;
  std::vector<Grant> grants;
  std::vector<Capture> captures;
  std::vector<HomePlace> home;
  std::map<std::string, std::string> environment;  // set inside
  std::vector<std::string> pass;  // variables of the caller's that say no secret, passed when set
  std::vector<std::string>
      trust;  // the variables by which the agent finds its certificate authorities
};

// Throws ConfigError: there is none of that name.
Profile read_profile(const std::string& name);
// The profile for a program such as "/usr/bin/claude"; empty: there is none.
std::string profile_for(std::string_view program);

// Which of a profile's secrets a run has.
struct ProfileSecrets {
  std::vector<std::string> found;    // variables, or the configuration's own secrets for them
  std::vector<std::string> missing;  // not set: the sandbox does not get them
};
// Adds to `config`'s policy `policy_name` (made when missing) what the profile brings: its rules behind those that are
// there, and secrets and grants where `is_set` says that there is a value. A secret that the configuration has for the
// same variable stays as it is. Throws ConfigError on a contradiction.
ProfileSecrets apply_profile(Config& config, const std::string& policy_name, const Profile& profile,
                             const std::function<bool(const std::string&)>& is_set);

}  // namespace warder
