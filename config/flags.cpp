#include <algorithm>

#include "config/load.hpp"
#include "config/reader.hpp"
#include "policy/conflict.hpp"
#include "policy/host_service.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

[[noreturn]] void fail_flag(const std::string& flag, const std::string& sentence) {
  throw ConfigError(flag + ": " + sentence);
}

HostPattern host_of(const std::string& flag, std::string_view text) {
  auto parsed = HostPattern::parse(text);
  if (const auto* sentence = std::get_if<std::string>(&parsed)) fail_flag(flag, *sentence);
  return std::get<HostPattern>(std::move(parsed));
}

struct HostFlag {
  std::string_view host;
  std::string_view port;  // empty: none given
  bool has_port = false;
};

// The last colon, unless it stands inside an IPv6 address.
HostFlag split_port(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return {text, "", false};
  const bool bracketed = text.starts_with('[');
  if (bracketed && text.rfind(']') > colon) return {text, "", false};
  if (!bracketed && text.find(':') != colon) return {text, "", false};
  if (text.find("://") != std::string_view::npos) return {text, "", false};
  return {text.substr(0, colon), text.substr(colon + 1), true};
}

std::uint16_t port_of(const std::string& flag, std::string_view text) {
  unsigned port = 0;
  const bool digits =
      !text.empty() && text.size() <= 5 && text.front() != '0' &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  for (const char c : text) port = digits ? port * 10 + static_cast<unsigned>(c - '0') : 0;
  if (port == 0 || port > 65535) {
    fail_flag(flag, "port " + in_quotes(text) +
                        " is not a number from 1 to 65535: write HOST or HOST:PORT");
  }
  return static_cast<std::uint16_t>(port);
}

std::string free_rule_name(const PolicyConfig& policy) {
  const auto taken = [&](const std::string& name) {
    return std::any_of(policy.rules.begin(), policy.rules.end(),
                       [&](const Rule& rule) { return rule.name == name; });
  };
  for (std::size_t place = policy.rules.size() + 1;; ++place) {
    std::string name = "rule-" + std::to_string(place);
    if (!taken(name)) return name;
  }
}

void add_rule(PolicyConfig& policy, std::vector<HostPattern> hosts,
              std::vector<std::uint16_t> ports, const std::string& flag,
              Action action = Action::allow) {
  Rule rule;
  rule.name = free_rule_name(policy);
  rule.where = flag;
  rule.hosts = std::move(hosts);
  rule.ports = std::move(ports);
  rule.action = action;
  if (const std::string sentence = contradiction(rule, policy.rules); !sentence.empty()) {
    throw ConfigError(sentence);
  }
  policy.rules.push_back(std::move(rule));
}

// A service of this machine: any bytes, since most of them are no HTTP.
void check_host_service(const std::string& flag, const std::vector<std::uint16_t>& ports) {
  const std::string name(kHostServiceName);
  if (ports.empty()) {
    fail_flag(flag,
              "this is the machine that the gateway runs on, and a port says which of its "
              "services is meant: write " +
                  name + ":PORT, such as " + name + ":5432");
  }
  if (ports.front() == kDnsPort) {
    fail_flag(flag,
              "every TCP connection of the sandbox to port 53 is answered as DNS by Warder "
              "itself");
  }
}

void add_allow(PolicyConfig& policy, const std::string& text) {
  const std::string shown = in_quotes(text);
  const HostFlag parts = split_port(text);
  const std::string flag = "--allow " + shown;
  const HostPattern host = host_of(flag, parts.host);
  std::vector<std::uint16_t> ports;
  if (parts.has_port) ports.push_back(port_of(flag, parts.port));
  const bool is_service = is_host_service(host);
  if (is_service) check_host_service(flag, ports);
  add_rule(policy, {host}, std::move(ports), "--allow " + text,
           is_service ? Action::tcp : Action::allow);
}

// The secret that ENV means: one that the configuration reads from that variable, else a new one.
std::string secret_for(Config& config, const std::string& env, const std::string& flag) {
  for (const SecretConfig& secret : config.secrets) {
    const bool same_source =
        secret.source.kind == SourceConfig::Kind::env && secret.source.env == env;
    if (same_source) return secret.name;
    if (secret.placeholder_env == env || secret.name == env) {
      fail_flag(flag, "secret '" + secret.name + "' (" + secret.where + ") already has the " +
                          (secret.name == env ? "name " : "placeholder variable ") + env +
                          ": use that one, or rename it");
    }
  }
  if (!is_plain_name(env)) fail_flag(flag, "the variable's name is longer than 64 characters");
  if (is_reserved_env(env)) {
    fail_flag(flag, "the placeholder would replace the sandbox's own variable " + env);
  }
  SecretConfig secret;
  secret.name = env;
  secret.source.env = env;
  secret.placeholder_env = env;
  secret.where = flag;
  config.secrets.push_back(std::move(secret));
  return env;
}

void add_secret(Config& config, PolicyConfig& policy, const std::string& text) {
  const auto at = text.find('@');
  // What stands before the '@' is quoted only when it is a name: it may be a value, typed by
  // mistake.
  if (at == std::string::npos || !is_env_name(text.substr(0, at))) {
    const std::string host = at == std::string::npos ? "" : text.substr(at);
    fail_flag("--secret …" + (host.empty() ? "" : in_quotes(host)),
              "write ENV@HOST[,HOST…], such as GITHUB_TOKEN@api.github.com: the name of the "
              "variable, never "
              "its value");
  }
  const std::string env = text.substr(0, at);
  const std::string flag = "--secret " + in_quotes(text);
  std::vector<HostPattern> hosts;
  for (std::size_t begin = at + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view entry = std::string_view(text).substr(begin, end - begin);
    if (split_port(entry).has_port) {
      fail_flag(flag, in_quotes(entry) + " has a port, and --secret allows 443 only: write " + env +
                          "@" + std::string(split_port(entry).host) + " and --allow " +
                          std::string(entry));
    }
    HostPattern host = host_of(flag, entry);
    if (is_host_service(host)) {
      fail_flag(flag, in_quotes(entry) +
                          " is the machine that the gateway runs on: --secret cannot say which of "
                          "its ports; write a rule with ports and a grant in a warder.yaml");
    }
    if (std::find(hosts.begin(), hosts.end(), host) != hosts.end()) {
      fail_flag(flag, in_quotes(entry) + " stands twice: remove one");
    }
    hosts.push_back(std::move(host));
    begin = end + 1;
  }
  const std::string secret = secret_for(config, env, flag);
  const std::string where = "--secret " + text;
  policy.grants.push_back({secret, hosts, default_places(), where});
  add_rule(policy, std::move(hosts), {443}, where);
}

}  // namespace

void apply_flags(Config& config, const std::string& policy_name, const RunFlags& flags) {
  if (!is_plain_name(policy_name)) {
    throw ConfigError("policy name " + in_quotes(policy_name) +
                      " may have letters, digits, '-' and '_' only, up to 64");
  }
  Config changed = config;
  auto policy = std::find_if(changed.policies.begin(), changed.policies.end(),
                             [&](const PolicyConfig& item) { return item.name == policy_name; });
  if (policy == changed.policies.end()) {
    PolicyConfig made;
    made.name = policy_name;
    made.where = "command line";
    policy = changed.policies.insert(policy, std::move(made));
  }
  for (const std::string& text : flags.allow) add_allow(*policy, text);
  for (const std::string& text : flags.secrets) add_secret(changed, *policy, text);
  config = std::move(changed);
}

}  // namespace warder
