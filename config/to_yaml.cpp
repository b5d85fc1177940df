#include <algorithm>

#include "base/encoding.hpp"
#include "config/load.hpp"
#include "config/spelling.hpp"
#include "http/chars.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

// Plain where every YAML reader takes it for the same text; else in quotes.
std::string scalar(const std::string& text) {
  static const std::vector<std::string_view> kWords{"true", "false", "null", "yes", "no",
                                                    "on",   "off",   "y",    "n"};
  const auto plain = [](char c) {
    return is_alnum(c) || c == '_' || c == '-' || c == '.' || c == '/';
  };
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
  const bool letter_first = !text.empty() && is_alnum(text[0]) && !is_digit(text[0]);
  const bool is_word = std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
  if (letter_first && !is_word && std::all_of(text.begin(), text.end(), plain)) return text;
  return yaml_quoted(text);
}

template <class List, class Text>
std::string list(const List& items, Text text) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + text(item);
  return '[' + out + ']';
}

std::string hosts_of(const std::vector<HostPattern>& hosts) {
  return list(hosts, [](const HostPattern& host) { return scalar(host.str()); });
}

std::string text_of(const PlaceholderSpec& spec) {
  std::string out;
  if (!spec.shape.empty()) out += ", shape: " + scalar(spec.shape);
  if (spec.form) {
    out += ", shape: {template: " + yaml_quoted(spec.form->text()) +
           (spec.is_weak ? ", weak: true}" : "}");
  }
  if (spec.format == PlaceholderSpec::Format::obvious) out += ", format: obvious";
  return out;
}

std::string text_of(const SourceConfig::Exec& exec) {
  std::string out = "exec: " + list(exec.argv, yaml_quoted);
  if (exec.format != HelperFormat::plain) {
    out += ", format: " + std::string(to_string(exec.format)) + ", host: " + scalar(exec.host);
  }
  out += ", timeout: " + std::to_string(exec.timeout.count()) + "ms, cache: ";
  out += exec.cache ? std::to_string(exec.cache->count()) + "ms" : "once";
  if (!exec.env.empty()) out += ", env: " + list(exec.env, scalar);
  return out;
}

std::string text_of(const SourceConfig& source) {
  switch (source.kind) {
    case SourceConfig::Kind::env: return "env: " + scalar(source.env);
    case SourceConfig::Kind::file: return "file: " + scalar(source.file.string());
    case SourceConfig::Kind::exec: return text_of(source.exec);
    case SourceConfig::Kind::store: break;
  }
  const std::string file = source.file.empty() ? "" : ", file: " + scalar(source.file.string());
  return "store: " + scalar(source.store) + file;
}

std::string text_of(const SecretConfig& secret) {
  return "  " + scalar(secret.name) + ": {source: {" + text_of(secret.source) +
         "}, placeholder: {env: " + scalar(secret.placeholder_env) + text_of(secret.placeholder) +
         "}}\n";
}

std::string text_of(const std::vector<FieldMatch>& headers) {
  const std::string fields = list(headers, [](const FieldMatch& field) {
    return yaml_quoted(field.name()) + ": " +
           list(field.values(), [](const ValuePattern& value) { return yaml_quoted(value.str()); });
  });
  return '{' + fields.substr(1, fields.size() - 2) + '}';
}

std::string text_of(const Rule& rule) {
  std::string out = "      - {name: " + scalar(rule.name) + ", hosts: " + hosts_of(rule.hosts);
  if (!rule.ports.empty()) {
    out += ", ports: " + list(rule.ports, [](std::uint16_t port) { return std::to_string(port); });
  }
  if (!rule.methods.empty()) out += ", methods: " + list(rule.methods, scalar);
  if (!rule.paths.empty()) {
    out += ", paths: " +
           list(rule.paths, [](const PathPattern& path) { return yaml_quoted(path.str()); });
  }
  if (!rule.query.empty())
    out +=
        ", query: " + list(rule.query, [](const QueryKey& key) { return yaml_quoted(key.str()); });
  if (!rule.headers.empty()) out += ", headers: " + text_of(rule.headers);
  if (rule.max_body) out += ", max_body: " + std::to_string(*rule.max_body);
  out += ", action: " + std::string(to_string(rule.action));
  if (rule.allow_private) out += ", allow_private: true";
  return out + "}\n";
}

std::string text_of(const Grant& grant) {
  std::string out =
      "      - {secret: " + scalar(grant.secret) + ", hosts: " + hosts_of(grant.hosts);
  if (grant.at != default_places()) {
    out += ", at: " + list(grant.at, [](const Place& place) { return yaml_quoted(place.str()); });
  }
  if (grant.foreign != Grant::Foreign::refuse)
    out += ", foreign: " + std::string(to_string(grant.foreign));
  if (grant.plain_http) out += ", plain_http: true";
  if (grant.max != 1) out += ", max: " + std::to_string(grant.max);
  return out + "}\n";
}

std::string text_of(const CertificateGrant& grant) {
  return "      - {client_certificate: {certificate: " + scalar(grant.certificate.string()) +
         ", key: " + scalar(grant.key.string()) + "}, hosts: " + hosts_of(grant.hosts) + "}\n";
}

std::string text_of(const Capture& capture) {
  std::string out =
      "      - {capture: {name: " + scalar(capture.name) + ", hosts: " + hosts_of(capture.from) +
      ", paths: " +
      list(capture.paths, [](const PathPattern& path) { return yaml_quoted(path.str()); }) +
      ", fields: " + list(capture.fields, scalar) + "}, hosts: " + hosts_of(capture.hosts);
  if (capture.at != default_places()) {
    out += ", at: " + list(capture.at, [](const Place& place) { return yaml_quoted(place.str()); });
  }
  return out + "}\n";
}

std::string text_of(const Limits& limits) {
  std::string out;
  for (std::size_t i = 0; i < kLimits; ++i) {
    const auto limit = static_cast<Limit>(i);
    const auto value = limits.find(limit);
    if (!value) continue;
    out +=
        (out.empty() ? "" : ", ") + std::string(to_string(limit)) + ": " + text_of(limit, *value);
  }
  return "    limits: {" + out + "}\n";
}

std::string text_of(const Bounds& bounds) {
  std::string out;
  for (std::size_t i = 0; i < kBounds; ++i) {
    const auto bound = static_cast<Bound>(i);
    if (const auto value = bounds.find(bound))
      out +=
          (out.empty() ? "" : ", ") + std::string(to_string(bound)) + ": " + text_of(bound, *value);
  }
  return "    sandbox: {" + out + "}\n";
}

constexpr std::size_t kMaxComment = 400;

std::string comment_lines(const std::vector<std::string>& lines, const std::string& indent) {
  std::string out;
  for (const std::string& line : lines) {
    std::string text;
    for (const char c : line) {
      if (text.size() >= kMaxComment) break;
      const auto byte = static_cast<std::uint8_t>(c);
      text += byte < 0x20 || byte > 0x7e ? "\\x" + hex_encode({&byte, 1}) : std::string(1, c);
    }
    out += indent + "# " + text + '\n';
  }
  return out;
}

std::string text_of(const PolicyConfig& policy, const YamlComments& comments) {
  std::string out = "policies:\n  " + scalar(policy.name) + ":";
  const bool has_grants =
      !policy.grants.empty() || !policy.certificates.empty() || !policy.captures.empty();
  const bool quarantines = policy.on_tripwire == OnTripwire::quarantine;
  const bool bounds_asking = policy.ask != AskLimits();
  if (policy.rules.empty() && !has_grants && !quarantines && !bounds_asking &&
      policy.limits.empty() && policy.bounds.empty() && !policy.observes)
    return out + " {rules: []}\n";
  out += '\n';
  if (policy.observes) out += "    mode: observe\n";
  if (quarantines) out += "    tripwire: quarantine\n";
  if (bounds_asking) {
    out += "    ask: {timeout: " + std::to_string(policy.ask.timeout.count()) +
           "ms, pending: " + std::to_string(policy.ask.pending) + "}\n";
  }
  if (!policy.limits.empty()) out += text_of(policy.limits);
  if (!policy.bounds.empty()) out += text_of(policy.bounds);
  if (!policy.rules.empty()) out += "    rules:\n";
  for (const Rule& rule : policy.rules) {
    const auto said = comments.of_rule.find(rule.name);
    if (said != comments.of_rule.end()) out += comment_lines(said->second, "      ");
    out += text_of(rule);
  }
  if (has_grants) out += "    grants:\n";
  for (const Grant& grant : policy.grants) out += text_of(grant);
  for (const CertificateGrant& grant : policy.certificates) out += text_of(grant);
  for (const Capture& capture : policy.captures) out += text_of(capture);
  return out;
}

std::string text_of(const UpstreamConfig& upstream) {
  const UpstreamConfig usual;
  std::string out;
  if (!upstream.ca.empty()) {
    out +=
        "    ca: " +
        list(upstream.ca, [](const std::filesystem::path& path) { return scalar(path.string()); }) +
        '\n';
  }
  if (!upstream.connect_to.empty()) out += "    connect_to:\n";
  for (const auto& [from, to] : upstream.connect_to) {
    out += "      " + yaml_quoted(from) + ": " + yaml_quoted(to) + '\n';
  }
  if (!upstream.resolvers.empty())
    out += "    resolvers: " + list(upstream.resolvers, yaml_quoted) + '\n';
  const auto time = [&](const char* key, std::chrono::milliseconds now,
                        std::chrono::milliseconds before) {
    if (now != before)
      out += "    " + std::string(key) + ": " + std::to_string(now.count()) + "ms\n";
  };
  time("connect_timeout", upstream.connect_timeout, usual.connect_timeout);
  time("response_timeout", upstream.response_timeout, usual.response_timeout);
  time("idle_timeout", upstream.idle_timeout, usual.idle_timeout);
  if (upstream.pool != usual.pool) {
    out += "    pool: {idle: " + std::to_string(upstream.pool.idle.count()) +
           "ms, per_authority: " + std::to_string(upstream.pool.per_authority) +
           ", per_session: " + std::to_string(upstream.pool.per_session) + "}\n";
  }
  return out.empty() ? out : "  upstream:\n" + out;
}

std::string text_of(const GatewayConfig& gateway) {
  std::string out;
  if (!gateway.audit_file.empty()) {
    out += "  audit: {file: " + scalar(gateway.audit_file.string()) + "}\n";
  }
  out += text_of(gateway.upstream);
  return out.empty() ? out : "gateway:\n" + out;
}

}  // namespace

std::string to_yaml(const Config& config, const std::string& policy_name,
                    const YamlComments& comments) {
  const PolicyConfig* policy = config.policy(policy_name);
  if (policy == nullptr) {
    std::vector<std::string> known;
    for (const PolicyConfig& item : config.policies) known.push_back(item.name);
    throw ConfigError("unknown policy " + in_quotes(policy_name) +
                      did_you_mean(policy_name, known, ": the configuration has none"));
  }
  std::string out = comment_lines(comments.head, "") + "version: 1\n";
  if (!config.secrets.empty()) out += "secrets:\n";
  for (const SecretConfig& secret : config.secrets) out += text_of(secret);
  return out + text_of(*policy, comments) + text_of(config.gateway);
}

}  // namespace warder
