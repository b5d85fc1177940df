// Rules in one line each, for tests.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policy/policy.hpp"

namespace warder::test {

struct RuleText {
  std::string name;
  Action action = Action::allow;
  std::vector<std::string> hosts;
  std::vector<std::uint16_t> ports{};
  std::vector<std::string> methods{};
  std::vector<std::string> paths{};
  bool allow_private = false;
  std::vector<std::string> query{};
  std::vector<std::pair<std::string, std::vector<std::string>>> headers{};
  std::optional<std::uint64_t> max_body = std::nullopt;
};

inline HostPattern host_pattern(const std::string& text) {
  return std::get<HostPattern>(HostPattern::parse(text));
}
inline PathPattern path_pattern(const std::string& text) {
  return std::get<PathPattern>(PathPattern::parse(text));
}

inline QueryKey query_key(const std::string& text) {
  return std::get<QueryKey>(QueryKey::parse(text));
}
inline FieldMatch field_match(const std::string& name, const std::vector<std::string>& values) {
  std::vector<ValuePattern> patterns;
  for (const auto& value : values)
    patterns.push_back(std::get<ValuePattern>(ValuePattern::parse(value)));
  return {name, std::move(patterns)};
}

inline Rule rule(const RuleText& text) {
  Rule out;
  out.name = text.name;
  out.where = "warder.yaml:7";
  out.action = text.action;
  for (const auto& host : text.hosts) out.hosts.push_back(host_pattern(host));
  for (const auto& path : text.paths) out.paths.push_back(path_pattern(path));
  out.ports = text.ports;
  out.methods = text.methods;
  out.allow_private = text.allow_private;
  for (const auto& key : text.query) out.query.push_back(query_key(key));
  for (const auto& [name, values] : text.headers) out.headers.push_back(field_match(name, values));
  out.max_body = text.max_body;
  return out;
}

inline Policy policy(const std::vector<RuleText>& texts) {
  std::vector<Rule> rules;
  for (const RuleText& text : texts) rules.push_back(rule(text));
  return Policy("t", std::move(rules));
}

// "https://api.test:8443"; the port may be left out.
inline Authority authority(const std::string& origin) {
  const bool tls = origin.starts_with("https://");
  const Scheme scheme = tls ? Scheme::https : Scheme::http;
  const HostPort parts = parse_host_port(origin.substr(tls ? 8 : 7)).value();
  return {scheme, parts.host, parts.port.value_or(default_port(scheme))};
}

}  // namespace warder::test
