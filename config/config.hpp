// The whole configuration, as read and checked.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "policy/rule.hpp"
#include "secrets/grant.hpp"

namespace warder {

struct SourceConfig {
  enum class Kind : std::uint8_t { env, file };
  Kind kind = Kind::env;
  std::string env;
  std::filesystem::path file;
};

struct SecretConfig {
  std::string name;
  SourceConfig source;
  std::string
      placeholder_env;  // the variable that holds the placeholder; env source: default its own name
  std::string where;
};

struct PolicyConfig {
  std::string name;
  std::vector<Rule> rules;
  std::vector<Grant> grants;
  std::string where;
};

struct UpstreamConfig {
  std::vector<std::filesystem::path> ca;  // PEM files trusted besides the system store
  std::map<std::string, std::string>
      connect_to;  // "host:port" → "address:port", outside the address check
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds response_timeout{300'000};  // head of the response
  std::chrono::milliseconds idle_timeout{300'000};      // between two bytes
};

struct GatewayConfig {
  std::filesystem::path audit_file;  // empty: one of the run's own in the state directory
  std::string audit_place;           // file:line:column of audit.file
  UpstreamConfig upstream;
};

struct Config {
  std::filesystem::path file;  // empty: from flags alone
  std::string bytes;  // as read; its SHA-256 is the policy digest and what `warder trust` pins
  std::vector<SecretConfig> secrets;
  std::vector<PolicyConfig> policies;
  GatewayConfig gateway;

  const PolicyConfig* policy(std::string_view name) const;
  const SecretConfig* secret(std::string_view name) const;
};

// One sentence: "file:line:column: unknown key 'hostz' in a rule: did you mean 'hosts'?"
struct ConfigError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace warder
