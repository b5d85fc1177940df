#include "config/summary.hpp"

#include "policy/quote.hpp"

namespace warder {
namespace {

template <class List, class Text>
std::string joined(const List& items, Text text) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + text(item);
  return out;
}

std::string hosts_of(const std::vector<HostPattern>& hosts) {
  return joined(hosts, [](const HostPattern& host) { return host.str(); });
}

std::string ports_of(const Rule& rule) {
  if (rule.ports.empty()) {
    return rule.action == Action::deny ? "every port" : "443 (TLS), 80 (clear text)";
  }
  return joined(rule.ports, [&](std::uint16_t port) {
    const bool allow = is_inspected(rule.action);
    return std::to_string(port) + (allow && port == 443  ? " (TLS)"
                                   : allow && port == 80 ? " (clear text)"
                                                         : "");
  });
}

std::string what_of(const Rule& rule) {
  if (rule.action == Action::tcp) return "any bytes, not inspected";
  if (rule.action == Action::tunnel) return "TLS end to end, not inspected";
  std::string out = rule.methods.empty()
                        ? "any method"
                        : joined(rule.methods, [](const std::string& m) { return m; });
  out += " · ";
  out += rule.paths.empty() ? "any path"
                            : joined(rule.paths, [](const PathPattern& p) { return p.str(); });
  if (!rule.query.empty()) {
    out += rule.action == Action::deny ? " · with any query key of " : " · no query key but ";
    out += joined(rule.query, [](const QueryKey& key) { return in_quotes(key.str()); });
  }
  for (const FieldMatch& field : rule.headers) {
    out += " · " + field.name() + ": ";
    out += joined(field.values(), [](const ValuePattern& value) { return in_quotes(value.str()); });
  }
  if (rule.max_body) out += " · bodies up to " + std::to_string(*rule.max_body) + " bytes";
  return out;
}

std::string line_of(const Rule& rule) {
  std::string out = "  " + std::string(to_string(rule.action));
  out.append(9 - out.size(), ' ');
  out += hosts_of(rule.hosts) + " : " + ports_of(rule) + " · " + what_of(rule);
  if (rule.action == Action::ask) out += " · somebody says yes first";
  if (rule.allow_private) out += " · private addresses too";
  return out + "   [" + rule.name + ", " + rule.where + "]\n";
}

// Of a program everything is shown: it runs outside the sandbox.
std::string text_of(const SourceConfig& source) {
  switch (source.kind) {
    case SourceConfig::Kind::env: return "$" + source.env;
    case SourceConfig::Kind::file: return in_quotes(source.file.string());
    case SourceConfig::Kind::exec: break;
    case SourceConfig::Kind::store:
      return "the secret store" +
             (source.file.empty() ? "" : " " + in_quotes(source.file.string())) + ", entry " +
             source.store;
  }
  std::string out =
      "what [" +
      joined(source.exec.argv, [](const std::string& argument) { return in_quotes(argument); }) +
      "] says";
  if (source.exec.env.empty()) return out;
  return out + " with " +
         joined(source.exec.env, [](const std::string& name) { return "$" + name; });
}

std::string looks_of(const PlaceholderSpec& spec) {
  std::string out;
  if (!spec.shape.empty()) out += ", shape " + spec.shape;
  if (spec.form) out += ", shape " + in_quotes(spec.form->text());
  if (spec.format == PlaceholderSpec::Format::obvious) out += ", obvious";
  return out;
}

std::string line_of(const Grant& grant, const Config& config) {
  std::string out = "  grant  secret '" + grant.secret + "'";
  if (const SecretConfig* secret = config.secret(grant.secret)) {
    out += " (from " + text_of(secret->source) + ", as $" + secret->placeholder_env +
           looks_of(secret->placeholder) + ")";
  }
  out += " at " + hosts_of(grant.hosts) + " in ";
  out += joined(grant.at, [](const Place& place) { return place.str(); });
  if (grant.max > 1) out += " · up to " + std::to_string(grant.max) + " times in a request";
  if (grant.foreign == Grant::Foreign::strip) out += " · a foreign credential is taken off";
  if (grant.foreign == Grant::Foreign::pass) out += " · a foreign credential passes";
  out += "   [" + grant.where + "]\n";
  if (grant.plain_http)
    out += "         WARNING: also in clear text: whoever is on the way can read the value\n";
  return out;
}

std::string line_of(const CertificateGrant& grant) {
  return "  grant  client certificate " + in_quotes(grant.certificate.string()) + " at " +
         hosts_of(grant.hosts) + " in tls   [" + grant.where + "]\n";
}

std::string line_of(const Capture& capture) {
  return "  grant  what '" + capture.name + "' captures from " + hosts_of(capture.from) + " " +
         joined(capture.paths, [](const PathPattern& path) { return path.str(); }) + " (" +
         joined(capture.fields, [](const std::string& field) { return field; }) + ") at " +
         hosts_of(capture.hosts) + " in " +
         joined(capture.at, [](const Place& place) { return place.str(); }) + "   [" +
         capture.where + "]\n";
}

std::string lines_of(const Limits& limits) {
  std::string out;
  for (std::size_t i = 0; i < kLimits; ++i) {
    const auto limit = static_cast<Limit>(i);
    if (const auto value = limits.find(limit))
      out +=
          (out.empty() ? "" : ", ") + std::string(to_string(limit)) + " " + text_of(limit, *value);
  }
  return out.empty() ? out : "  limits of each sandbox: " + out + '\n';
}

std::string lines_of(const Bounds& bounds) {
  std::string out;
  for (std::size_t i = 0; i < kBounds; ++i) {
    const auto bound = static_cast<Bound>(i);
    if (const auto value = bounds.find(bound))
      out +=
          (out.empty() ? "" : ", ") + std::string(to_string(bound)) + " " + text_of(bound, *value);
  }
  return out.empty() ? out : "  each sandbox takes of the machine at most: " + out + '\n';
}

std::string lines_of(const GatewayConfig& gateway) {
  std::string out;
  if (!gateway.audit_file.empty())
    out += "  audit file " + in_quotes(gateway.audit_file.string()) + '\n';
  for (const auto& ca : gateway.upstream.ca)
    out += "  trusts the authority in " + in_quotes(ca.string()) + '\n';
  for (const auto& [from, to] : gateway.upstream.connect_to) {
    out += "  connects to " + to + " for " + from + '\n';
  }
  return out.empty() ? out : "gateway:\n" + out;
}

}  // namespace

std::string summary(const Config& config) {
  std::string out;
  for (const PolicyConfig& policy : config.policies) {
    out += "policy '" + policy.name + "':\n";
    for (const Rule& rule : policy.rules) out += line_of(rule);
    for (const Grant& grant : policy.grants) out += line_of(grant, config);
    for (const CertificateGrant& grant : policy.certificates) out += line_of(grant);
    for (const Capture& capture : policy.captures) out += line_of(capture);
    if (policy.on_tripwire == OnTripwire::quarantine)
      out +=
          "  a placeholder where it must not be: the whole sandbox is in quarantine from then on\n";
    out += lines_of(policy.limits);
    out += lines_of(policy.bounds);
    out += policy.observes
               ? "  WARNING: mode observe: everything else is let through, and recorded\n"
               : "  refuse everything else\n";
  }
  if (config.policies.empty()) out += "no policy: everything is refused\n";
  return out + lines_of(config.gateway);
}

}  // namespace warder
