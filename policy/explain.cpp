#include "policy/explain.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "policy/public_suffix.hpp"
#include "policy/rule_match.hpp"

namespace warder {
namespace {

bool has_host(const Rule& rule, const HostName& host) {
  return std::any_of(rule.hosts.begin(), rule.hosts.end(),
                     [&](const HostPattern& pattern) { return pattern.matches(host); });
}

// Is one of its hosts of the same owner as this one?
bool has_relative(const Rule& rule, const std::string& domain) {
  return std::any_of(rule.hosts.begin(), rule.hosts.end(), [&](const HostPattern& pattern) {
    if (domain.empty() || pattern.is_range()) return false;
    const std::string text = pattern.str();
    const auto name = HostName::parse(text.substr(text.find_first_not_of("*.")));
    return name && registrable_domain(*name) == domain;
  });
}

// The rule as if this were all that it asks.
Rule only(const Rule& rule, Part part) {
  Rule out;
  out.action = rule.action;
  if (part == Part::method) out.methods = rule.methods;
  if (part == Part::path) out.paths = rule.paths;
  if (part == Part::query) out.query = rule.query;
  if (part == Part::headers) out.headers = rule.headers;
  if (part == Part::body) out.max_body = rule.max_body;
  return out;
}

constexpr Part kAsked[] = {Part::method, Part::path, Part::query, Part::headers, Part::body};

// Of a connection nothing but host and port is known, so only a deny of all there is on them counts.
std::vector<Part> named_by(const Rule& deny) {
  std::vector<Part> out;
  if (is_blanket_deny(deny)) return out;
  if (!deny.methods.empty()) out.push_back(Part::method);
  if (!deny.paths.empty()) out.push_back(Part::path);
  if (!deny.query.empty()) out.push_back(Part::query);
  if (!deny.headers.empty()) out.push_back(Part::headers);
  return out;
}

std::vector<Part> lacks_of_deny(const Rule& rule, AskedRequest& request) {
  if (!denies_port(rule, request->authority.port)) return {Part::port};
  if (request->authority.scheme == Scheme::tcp) return named_by(rule);
  std::vector<Part> out;
  for (const Part part : kAsked) {
    if (!denies(only(rule, part), request)) out.push_back(part);
  }
  return out;
}

std::vector<Part> lacks_of_raw(const Rule& rule, const Authority& to) {
  if (!lists_port(rule, to.port)) return {Part::port};
  if (to.scheme == Scheme::tcp) return {};
  return {Part::scheme};
}

std::vector<Part> lacks_of_allow(const Rule& rule, const RequestFacts& request) {
  const Authority& to = request.authority;
  if (!allows_port(rule, to)) {
    const bool usual = rule.ports.empty() && (to.port == 80 || to.port == 443);
    return {usual || lists_port(rule, to.port) ? Part::scheme : Part::port};
  }
  std::vector<Part> out;
  if (!allows_method(rule, request.method)) out.push_back(Part::method);
  RequestFacts rest = request;
  rest.method = "GET";  // is no reason any more
  for (const Part part : kAsked) {
    if (part != Part::method && !fit_of(only(rule, part), rest).all()) out.push_back(part);
  }
  return out;
}

std::vector<Part> lacks_of(const Rule& rule, AskedRequest& request, const RequestFacts& facts) {
  if (rule.action == Action::deny) return lacks_of_deny(rule, request);
  if (is_raw(rule.action)) return lacks_of_raw(rule, facts.authority);
  return lacks_of_allow(rule, facts);
}

// How far it is from a match: another host is farthest, and each part more is farther.
int distance(const NearMiss& miss) {
  int out = 0;
  for (const Part part : miss.lacks) {
    switch (part) {
      case Part::host: out += 16; break;
      case Part::port:
      case Part::scheme: out += 8; break;
      case Part::method:
      case Part::path: out += 2; break;
      case Part::query:
      case Part::headers:
      case Part::body: out += 1; break;
    }
  }
  return out;
}

// The verdict of a connection whose bytes are never read, if it is one.
std::optional<Verdict> raw_verdict(const Policy& policy, const Authority& to) {
  if (to.scheme == Scheme::tcp) return policy.authorize_connection(to);
  std::optional<Verdict> raw = policy.authorize_raw(to.host, to.port);
  // A tunnel wants a TLS hello, and clear text is none.
  if (raw && raw->handling == Handling::tunnel && to.scheme == Scheme::http) return std::nullopt;
  return raw;
}

// Of the rules that match.
const Rule* deciding_of(const std::vector<const Rule*>& matching, const Policy& policy,
                        const Authority& to) {
  const auto deny = std::find_if(matching.begin(), matching.end(),
                                 [](const Rule* rule) { return rule->action == Action::deny; });
  if (deny != matching.end()) return *deny;
  // What a raw rule has is never inspected, and the other way round.
  const bool is_taken = to.scheme != Scheme::tcp && policy.authorize_raw(to.host, to.port);
  return matching.empty() || is_taken ? nullptr : matching.front();
}

void keep_nearest(Explanation& out) {
  // All of them lie in one list, in the order of the policy.
  std::sort(out.near.begin(), out.near.end(), [](const NearMiss& a, const NearMiss& b) {
    return std::pair(distance(a), a.rule) < std::pair(distance(b), b.rule);
  });
  if (out.near.size() <= kMaxNear) return;
  out.more_near = out.near.size() - kMaxNear;
  out.near.resize(kMaxNear);
}

}  // namespace

std::string_view to_string(Part part) {
  switch (part) {
    case Part::host: return "host";
    case Part::port: return "port";
    case Part::scheme: return "scheme";
    case Part::method: return "method";
    case Part::path: return "path";
    case Part::query: return "query";
    case Part::headers: return "headers";
    case Part::body: return "body";
  }
  return "";
}

Action outcome_of(const Verdict& verdict) {
  if (verdict.decision == Decision::deny) return Action::deny;
  if (verdict.decision == Decision::ask) return Action::ask;
  switch (verdict.handling) {
    case Handling::inspect: return Action::allow;
    case Handling::tunnel: return Action::tunnel;
    case Handling::raw: return Action::tcp;
  }
  return Action::deny;
}

Verdict decide(const Policy& policy, const RequestFacts& request) {
  if (auto raw = raw_verdict(policy, request.authority)) return std::move(*raw);
  return policy.authorize(request);
}

Explanation explain(const Policy& policy, const RequestFacts& request) {
  Explanation out;
  out.verdict = decide(policy, request);
  Authority to = request.authority;
  if (raw_verdict(policy, to)) to.scheme = Scheme::tcp;
  const RequestFacts facts{
      to, request.method, request.path, request.query, request.fields, request.body_bytes};
  AskedRequest asked(facts);
  const std::string domain = registrable_domain(to.host);
  std::vector<const Rule*> matching;
  for (const Rule& rule : policy.rules()) {
    if (!has_host(rule, to.host)) {
      if (has_relative(rule, domain)) out.near.push_back({&rule, {Part::host}});
      continue;
    }
    std::vector<Part> lacks = lacks_of(rule, asked, facts);
    if (lacks.empty())
      matching.push_back(&rule);
    else
      out.near.push_back({&rule, std::move(lacks)});
  }
  out.deciding = deciding_of(matching, policy, to);
  for (const Rule* rule : matching) {
    if (rule != out.deciding) out.overruled.push_back(rule);
  }
  keep_nearest(out);
  return out;
}

}  // namespace warder
