#include "policy/policy.hpp"

#include <algorithm>

#include "http/chars.hpp"
#include "policy/suggest.hpp"

namespace warder {
namespace {

bool names_host(const Rule& rule, const HostName& host) {
  return std::any_of(rule.hosts.begin(), rule.hosts.end(),
                     [&](const HostPattern& pattern) { return pattern.matches(host); });
}

bool lists_port(const Rule& rule, std::uint16_t port) {
  return std::find(rule.ports.begin(), rule.ports.end(), port) != rule.ports.end();
}

// 80 is clear text and 443 is TLS wherever they are listed; any other listed port is sniffed, so it
// is either. Raw TCP is never what an allow rule means.
bool allows_port(const Rule& rule, const Authority& authority) {
  if (authority.scheme == Scheme::tcp) return false;
  if (authority.port == 80 && authority.scheme != Scheme::http) return false;
  if (authority.port == 443 && authority.scheme != Scheme::https) return false;
  if (rule.ports.empty()) return authority.port == 80 || authority.port == 443;
  return lists_port(rule, authority.port);
}

// A deny without ports means the host, whatever the port: the narrow reading would leave 8443 open.
bool denies_port(const Rule& rule, std::uint16_t port) {
  return rule.ports.empty() || lists_port(rule, port);
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return to_lower(x) == to_lower(y); });
}

bool is_never_allowed(std::string_view method) {
  return same_letters(method, "TRACE") || same_letters(method, "CONNECT");
}

bool allows_method(const Rule& rule, std::string_view method) {
  if (is_never_allowed(method)) return false;
  return rule.methods.empty() ||
         std::find(rule.methods.begin(), rule.methods.end(), method) != rule.methods.end();
}

// Some servers take "delete" for DELETE, so a deny does too.
bool denies_method(const Rule& rule, std::string_view method) {
  return rule.methods.empty() ||
         std::any_of(rule.methods.begin(), rule.methods.end(),
                     [&](const std::string& listed) { return same_letters(listed, method); });
}

bool names_every_path(const Rule& rule) {
  return rule.paths.empty() || std::any_of(rule.paths.begin(), rule.paths.end(),
                                           [](const PathPattern& path) { return path.is_any(); });
}

bool allows_path(const Rule& rule, std::string_view path) {
  return names_every_path(rule) ||
         std::any_of(rule.paths.begin(), rule.paths.end(),
                     [&](const PathPattern& pattern) { return pattern.matches(path); });
}

bool denies_path(const Rule& rule, std::string_view path) {
  return names_every_path(rule) ||
         std::any_of(rule.paths.begin(), rule.paths.end(),
                     [&](const PathPattern& pattern) { return pattern.matches_any_form(path); });
}

bool denies_connection(const Rule& rule, const Authority& authority) {
  return rule.action == Action::deny && rule.methods.empty() && names_every_path(rule) &&
         names_host(rule, authority.host) && denies_port(rule, authority.port);
}

bool denies(const Rule& rule, const RequestFacts& request) {
  return rule.action == Action::deny && names_host(rule, request.authority.host) &&
         denies_port(rule, request.authority.port) && denies_method(rule, request.method) &&
         denies_path(rule, request.path);
}

Handling handling_of(Action action) {
  switch (action) {
    case Action::tunnel: return Handling::tunnel;
    case Action::tcp: return Handling::raw;
    case Action::allow:
    case Action::ask:
    case Action::deny: return Handling::inspect;
  }
  return Handling::inspect;
}

Verdict allowed_by(const Rule& rule) {
  return {Decision::allow,         Reason::none, rule.name, rule.where, "", rule.allow_private,
          handling_of(rule.action)};
}

Verdict decided_by(const Rule& rule) {
  Verdict verdict = allowed_by(rule);
  if (rule.action == Action::ask) verdict.decision = Decision::ask;
  return verdict;
}

Verdict denied_by(const Rule& rule, Reason reason) {
  Verdict verdict;
  verdict.reason = reason;
  verdict.rule = rule.name;
  verdict.where = rule.where;
  verdict.suggestion = suggest_narrower(rule);
  return verdict;
}

Reason what_it_names(const Rule& rule) {
  if (!rule.paths.empty()) return Reason::path_not_allowed;
  if (!rule.methods.empty()) return Reason::method_not_allowed;
  return Reason::host_not_allowed;
}

Verdict refused(Reason reason, std::string suggestion) {
  Verdict verdict;
  verdict.reason = reason;
  verdict.suggestion = std::move(suggestion);
  return verdict;
}

// The first `tcp` or `tunnel` rule for it.
const Rule* raw_rule(const std::vector<Rule>& rules, const HostName& host, std::uint16_t port) {
  for (const Rule& rule : rules) {
    if (is_raw(rule.action) && lists_port(rule, port) && names_host(rule, host)) return &rule;
  }
  return nullptr;
}

// As HTTP, whatever the scheme: then a rule of another kind would contradict.
bool allows_http(const std::vector<Rule>& rules, const Authority& authority) {
  const auto allows = [&](const Rule& rule) {
    const bool usual = authority.port == 80 || authority.port == 443;
    return is_inspected(rule.action) && names_host(rule, authority.host) &&
           (rule.ports.empty() ? usual : lists_port(rule, authority.port));
  };
  return std::any_of(rules.begin(), rules.end(), allows);
}

Verdict authorize_tcp(const std::vector<Rule>& rules, const Authority& authority) {
  if (const Rule* rule = raw_rule(rules, authority.host, authority.port)) return allowed_by(*rule);
  const bool named = std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
    return rule.action != Action::deny && names_host(rule, authority.host);
  });
  return refused(named ? Reason::port_not_allowed : Reason::host_not_allowed,
                 allows_http(rules, authority) ? "" : suggest_host(authority));
}

// What the allow rules came nearest to.
struct Near {
  bool host = false;
  bool port = false;
  bool method = false;  // with host and port
  bool path = false;    // with host and port

  Reason reason() const {
    if (!host) return Reason::host_not_allowed;
    if (!port) return Reason::port_not_allowed;
    return path && !method ? Reason::method_not_allowed : Reason::path_not_allowed;
  }
};

}  // namespace

Policy::Policy(std::string name, std::vector<Rule> rules)
    : name_(std::move(name)), rules_(std::move(rules)) {}

Verdict Policy::authorize_connection(const Authority& authority) const {
  for (const Rule& rule : rules_) {
    if (denies_connection(rule, authority)) return denied_by(rule, Reason::host_not_allowed);
  }
  if (authority.scheme == Scheme::tcp) return authorize_tcp(rules_, authority);
  if (raw_rule(rules_, authority.host, authority.port) != nullptr) {
    return refused(Reason::port_not_allowed, "");
  }
  Near near;
  for (const Rule& rule : rules_) {
    if (rule.action == Action::deny || !names_host(rule, authority.host)) continue;
    near.host = true;
    if (is_inspected(rule.action) && allows_port(rule, authority)) return allowed_by(rule);
  }
  return refused(near.reason(), suggest_host(authority));
}

std::optional<Verdict> Policy::authorize_raw(const HostName& host, std::uint16_t port) const {
  if (raw_rule(rules_, host, port) == nullptr) return std::nullopt;
  return authorize_connection({Scheme::tcp, host, port});
}

Verdict Policy::authorize(const RequestFacts& request) const {
  const Authority& authority = request.authority;
  for (const Rule& rule : rules_) {
    if (denies(rule, request)) return denied_by(rule, what_it_names(rule));
  }
  if (raw_rule(rules_, authority.host, authority.port) != nullptr) {
    return refused(Reason::port_not_allowed, "");
  }
  Near near;
  for (const Rule& rule : rules_) {
    if (rule.action == Action::deny || !names_host(rule, authority.host)) continue;
    near.host = true;
    if (!is_inspected(rule.action) || !allows_port(rule, authority)) continue;
    near.port = true;
    const bool method_fits = allows_method(rule, request.method);
    const bool path_fits = allows_path(rule, request.path);
    if (method_fits && path_fits) return decided_by(rule);
    near.method |= method_fits;
    near.path |= path_fits;
  }
  if (is_never_allowed(request.method)) {
    return refused(near.port ? Reason::method_not_allowed : near.reason(), "");
  }
  return refused(near.reason(), near.port ? suggest_request(authority, request.method, request.path)
                                          : suggest_host(authority));
}

Verdict Policy::authorize_name(const HostName& name) const {
  const auto connection = [&](Scheme scheme, std::uint16_t port) {
    return authorize_connection({scheme, name, port});
  };
  Verdict denied;
  for (const Rule& rule : rules_) {
    if (rule.action == Action::deny || !names_host(rule, name)) continue;
    std::vector<std::uint16_t> ports = rule.ports;
    if (ports.empty()) ports = {443, 80};
    for (const std::uint16_t port : ports) {
      const Scheme inspected = port == 80 ? Scheme::http : Scheme::https;
      Verdict verdict = connection(is_raw(rule.action) ? Scheme::tcp : inspected, port);
      if (verdict.allows()) return verdict;
      denied = std::move(verdict);
    }
  }
  if (denied.rule.empty()) denied = connection(Scheme::https, 443);
  denied.reason = Reason::name_not_allowed;
  return denied;
}

}  // namespace warder
