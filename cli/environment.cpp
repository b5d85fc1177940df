#include "cli/environment.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "certs/trust.hpp"
#include "config/config.hpp"
#include "sandbox-launcher/spawn.hpp"

extern char** environ;

namespace warder {
namespace {

constexpr std::array<std::string_view, 9> kAllowed{"PATH",      "SHELL",    "TERM", "LANG",    "TZ",
                                                   "COLORTERM", "NO_COLOR", "CI",   "LANGUAGE"};

bool is_allowed(std::string_view name) {
  return name.starts_with("LC_") ||
         std::find(kAllowed.begin(), kAllowed.end(), name) != kAllowed.end();
}

}  // namespace

std::string held_secret(const std::string& text, const SessionSecrets& secrets) {
  if (secrets.mask_set().empty()) return "";
  for (const Credential& credential : secrets.credentials()) {
    const bool holds = credential.value && credential.value->reveal([&](std::string_view plain) {
      return text.find(plain) != std::string::npos;
    });
    if (holds) return credential.name;
  }
  std::string copy = text;
  return secrets.mask_set().mask(copy) > 0 ? "(encoded)" : "";
}

std::map<std::string, std::string> sandbox_environment(
    const std::vector<std::string>& passed_by_name) {
  std::map<std::string, std::string> env;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view entry(*at);
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(entry.substr(0, equals));
    const bool by_name =
        std::find(passed_by_name.begin(), passed_by_name.end(), name) != passed_by_name.end();
    if (by_name || is_allowed(name)) env[name] = entry.substr(equals + 1);
  }
  env["HOME"] = kHomePath;
  env["USER"] = env["LOGNAME"] = "sandbox";
  for (const auto& [name, value] : trust_variables(kBundlePath, kCaPath)) env[name] = value;
  return env;
}

void become_root(std::map<std::string, std::string>& env) {
  env["USER"] = env["LOGNAME"] = "root";
  env["APT_CONFIG"] = kAptPath;
}

void refuse_values(const std::vector<std::string>& argv,
                   const std::map<std::string, std::string>& env, const SessionSecrets& secrets) {
  for (const std::string& argument : argv) {
    if (const std::string secret = held_secret(argument, secrets); !secret.empty()) {
      throw ConfigError("an argument of the command holds the value of secret " + secret +
                        ": use its placeholder variable inside instead");
    }
  }
  for (const auto& [name, value] : env) {
    if (const std::string secret = held_secret(value, secrets); !secret.empty()) {
      throw ConfigError("the variable " + name + " holds the value of secret " + secret +
                        ": take it out of the environment, or do not pass it with --env");
    }
  }
}

}  // namespace warder
