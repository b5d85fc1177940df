#include "policy/policy.hpp"

#include <algorithm>

#include "policy/rule_match.hpp"
#include "policy/suggest.hpp"

namespace warder {
namespace {

using Found = RuleIndex::Found;

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
  verdict.max_body = rule.max_body;
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

Verdict refused(Reason reason, std::string suggestion) {
  Verdict verdict;
  verdict.reason = reason;
  verdict.suggestion = std::move(suggestion);
  return verdict;
}

// The first `tcp` or `tunnel` rule for the port.
RulePlace raw_rule(const Found& found, std::uint16_t port) {
  RulePlace first = kNoRule;
  for (const HostRules* host : found) first = std::min(first, host->raw_at(port));
  return first;
}

bool is_named(const Found& found) {
  return std::any_of(found.begin(), found.end(),
                     [](const HostRules* host) { return host->allows_anything(); });
}

// The first that `fits` says yes to of the kinds of rules that allow inspected requests.
template <class Fits>
RulePlace first_kind(const Found& found, Fits fits) {
  RulePlace first = kNoRule;
  for (const HostRules* host : found) {
    const auto kind = std::find_if(host->kinds.begin(), host->kinds.end(), fits);
    if (kind != host->kinds.end()) first = std::min(first, *kind);
  }
  return first;
}

// As HTTP, whatever the scheme: then a rule of another kind would contradict.
bool allows_http(const Found& found, const std::vector<Rule>& rules, std::uint16_t port) {
  const bool usual = port == 80 || port == 443;
  return first_kind(found, [&](RulePlace kind) {
           return rules[kind].ports.empty() ? usual : lists_port(rules[kind], port);
         }) != kNoRule;
}

RulePlace blanket_deny(const Found& found, const std::vector<Rule>& rules, std::uint16_t port) {
  RulePlace first = kNoRule;
  for (const HostRules* host : found) {
    for (const RulePlace place : host->blanket_denies) {
      if (place >= first) break;
      if (denies_port(rules[place], port)) first = place;
    }
  }
  return first;
}

RulePlace first_deny(const Found& found, const std::vector<Rule>& rules, AskedRequest& request) {
  RulePlace first = blanket_deny(found, rules, request->authority.port);
  const auto is_denied = [&](RulePlace place) { return denies(rules[place], request); };
  for (const HostRules* host : found) {
    if (host->denies.empty()) continue;
    const auto forms = request.path_forms().all();
    host->denies.find_first(forms, first, is_denied);
    if (forms.size() > 1) host->denies.find_first({&request->path, 1}, first, is_denied);
  }
  return first;
}

// What the allow rules came nearest to.
struct Near {
  bool host = false;
  bool port = false;
  bool method = false;   // with host and port
  bool path = false;     // with host and port
  bool request = false;  // method and path of one rule
  bool query = false;    // and its query
  bool headers = false;  // and its headers: only the body was too long

  void add(const Fit& fit) {
    method |= fit.method;
    path |= fit.path;
    request |= fit.method && fit.path;
    query |= fit.query;
    headers |= fit.headers;
  }
  // What the kinds alone can tell: rules whose paths do not fit are never looked at.
  void add_kinds(const Found& found, const std::vector<Rule>& rules, const RequestFacts& asked) {
    host = is_named(found);
    for (const HostRules* one : found) {
      for (const RulePlace kind : one->kinds) {
        if (!allows_port(rules[kind], asked.authority)) continue;
        port = true;
        method |= allows_method(rules[kind], asked.method);
      }
    }
  }
  Reason reason() const {
    if (!host) return Reason::host_not_allowed;
    if (!port) return Reason::port_not_allowed;
    if (headers) return Reason::too_large;
    if (query) return Reason::header_not_allowed;
    if (request) return Reason::query_not_allowed;
    return path && !method ? Reason::method_not_allowed : Reason::path_not_allowed;
  }
};

}  // namespace

Policy::Policy(std::string name, std::vector<Rule> rules)
    : name_(std::move(name)),
      rules_(std::move(rules)),
      reads_fields_(std::any_of(rules_.begin(), rules_.end(),
                                [](const Rule& rule) { return !rule.headers.empty(); })),
      index_(rules_) {}

Verdict Policy::connect(const Found& found, const Authority& authority) const {
  const RulePlace denied = blanket_deny(found, rules_, authority.port);
  if (denied != kNoRule) return denied_by(rules_[denied], Reason::host_not_allowed);
  const Reason reason = is_named(found) ? Reason::port_not_allowed : Reason::host_not_allowed;
  const RulePlace raw = raw_rule(found, authority.port);
  if (authority.scheme == Scheme::tcp) {
    if (raw != kNoRule) return allowed_by(rules_[raw]);
    const bool contradicts = allows_http(found, rules_, authority.port);
    return refused(reason, contradicts ? "" : suggest_host(authority));
  }
  if (raw != kNoRule) return refused(Reason::port_not_allowed, "");
  const RulePlace allowed =
      first_kind(found, [&](RulePlace kind) { return allows_port(rules_[kind], authority); });
  if (allowed != kNoRule) return allowed_by(rules_[allowed]);
  return refused(reason, suggest_host(authority));
}

Verdict Policy::authorize_connection(const Authority& authority) const {
  return connect(index_.at(authority.host), authority);
}

std::optional<Verdict> Policy::authorize_raw(const HostName& host, std::uint16_t port) const {
  const Found found = index_.at(host);
  if (raw_rule(found, port) == kNoRule) return std::nullopt;
  return connect(found, {Scheme::tcp, host, port});
}

Verdict Policy::authorize(const RequestFacts& request) const {
  const Authority& authority = request.authority;
  const Found found = index_.at(authority.host);
  AskedRequest asked(request);
  const RulePlace denied = first_deny(found, rules_, asked);
  if (denied != kNoRule) return denied_by(rules_[denied], what_it_names(rules_[denied]));
  if (raw_rule(found, authority.port) != kNoRule) return refused(Reason::port_not_allowed, "");

  Near near;
  RulePlace first = kNoRule;
  const auto fits = [&](RulePlace place) {
    const Rule& rule = rules_[place];
    if (!allows_port(rule, authority)) return false;
    const Fit fit = fit_of(rule, request);
    near.add(fit);
    return fit.all();
  };
  for (const HostRules* host : found) host->allows.find_first({&request.path, 1}, first, fits);
  if (first != kNoRule) return decided_by(rules_[first]);

  near.add_kinds(found, rules_, request);
  if (is_never_allowed(request.method))
    return refused(near.port ? Reason::method_not_allowed : near.reason(), "");
  if (!near.port) return refused(near.reason(), suggest_host(authority));
  return refused(near.reason(), suggest_request(request, near.reason()));
}

Verdict Policy::authorize_name(const HostName& name) const {
  const Found found = index_.at(name);
  std::vector<RulePlace> places;  // of rules that differ in their ports
  for (const HostRules* host : found) {
    places.insert(places.end(), host->kinds.begin(), host->kinds.end());
    for (const auto& [port, place] : host->raw) places.push_back(place);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  Verdict denied;
  for (const RulePlace place : places) {
    const Rule& rule = rules_[place];
    std::vector<std::uint16_t> ports = rule.ports;
    if (ports.empty()) ports = {443, 80};
    for (const std::uint16_t port : ports) {
      const Scheme inspected = port == 80 ? Scheme::http : Scheme::https;
      Verdict verdict = connect(found, {is_raw(rule.action) ? Scheme::tcp : inspected, name, port});
      if (verdict.allows()) return verdict;
      if (denied.rule.empty()) denied = std::move(verdict);
    }
  }
  if (denied.rule.empty()) denied = connect(found, {Scheme::https, name, 443});
  denied.reason = Reason::name_not_allowed;
  return denied;
}

}  // namespace warder
