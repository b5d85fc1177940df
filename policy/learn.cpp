#include "policy/learn.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <map>
#include <set>

#include "http/chars.hpp"
#include "policy/address_guard.hpp"
#include "policy/conflict.hpp"
#include "policy/host_service.hpp"
#include "policy/learn_hosts.hpp"
#include "policy/learn_paths.hpp"

namespace warder {
namespace {

using Kind = Observation::Kind;
using Seen = std::vector<const Observation*>;

constexpr std::size_t kMaxListed = 500;  // paths of one rule
constexpr std::size_t kMaxNotes = 200;
constexpr std::size_t kExamples = 3;
constexpr std::size_t kMaxExample = 100;

// A rule without ports means 443 and 80.
constexpr std::uint16_t kUsualPorts = 0;
std::uint16_t port_class(const Authority& authority) {
  return authority.port == 443 || authority.port == 80 ? kUsualPorts : authority.port;
}

std::string shown(const Observation& one) {
  switch (one.kind) {
    case Kind::name: return "look-up of " + one.authority.host.str();
    case Kind::connection: return "connection to " + one.authority.origin();
    case Kind::raw: return "tcp to " + one.authority.host_port();
    case Kind::tunnel: return "tunnel to " + one.authority.host_port();
    case Kind::request: break;
  }
  const std::string path =
      one.path.size() > kMaxExample ? one.path.substr(0, kMaxExample) + "..." : one.path;
  return one.method + ' ' + one.authority.origin() + path;
}

std::string times(std::uint64_t count) {
  return count == 1 ? "once" : std::to_string(count) + " times";
}

Verdict verdict_on(const Policy& policy, const Observation& one) {
  switch (one.kind) {
    case Kind::name: return policy.authorize_name(one.authority.host);
    case Kind::request: return policy.authorize({one.authority, one.method, one.path});
    case Kind::connection:
    case Kind::raw:
    case Kind::tunnel: break;
  }
  return policy.authorize_connection(one.authority);
}

bool is_let_through(const Verdict& verdict) { return verdict.decision != Decision::deny; }

bool may_be_dialled(const HostName& host) {
  if (!host.is_address()) return true;
  IpAddress address;
  if (host.kind() == HostName::Kind::ipv4) {
    std::array<std::uint8_t, 4> v4{};
    if (::inet_pton(AF_INET, host.str().c_str(), v4.data()) != 1) return false;
    address = IpAddress::v4(v4);
  } else if (::inet_pton(AF_INET6, host.str().c_str(), address.bytes.data()) != 1) {
    return false;
  }
  return may_dial(address, PrivateAddresses::refused);
}

bool is_plain_method(std::string_view method) {
  return !method.empty() && method.size() <= 32 && all_in(kTokenChar, method) &&
         std::none_of(method.begin(), method.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

// Why no rule could allow it; empty: one could.
std::string obstacle(const Observation& one) {
  const Authority& to = one.authority;
  if (!may_be_dialled(to.host)) return "the address is private, or not one to be dialled";
  if (is_host_service(to.host) && one.kind != Kind::raw)
    return "the gateway's own machine is opened by a rule that is written for it, with its ports";
  if (one.kind == Kind::raw || one.kind == Kind::tunnel)
    return to.port == kDnsPort ? "port 53 is answered as DNS" : "";
  if (one.kind == Kind::name) return "";
  if ((to.port == 80 && to.scheme != Scheme::http) ||
      (to.port == 443 && to.scheme != Scheme::https))
    return "port 80 is clear text and port 443 is TLS";
  if (one.kind == Kind::connection) return "";
  if (one.method == "TRACE" || one.method == "CONNECT") return "this method is always refused";
  if (!is_plain_method(one.method)) return "a rule cannot name this method";
  return literal_pattern(one.path).empty() ? "a rule cannot name this path" : "";
}

// Counts, the first time, and what it looked like.
std::vector<std::string> evidence_of(const Seen& seen, const std::string& lead) {
  std::uint64_t count = 0;
  std::uint64_t refused = 0;
  std::string first;
  std::vector<std::string> examples;
  for (const Observation* one : seen) {
    count += one->count;
    refused += one->refused;
    if (first.empty() || one->first < first) first = one->first;
    std::string example = shown(*one);
    const bool is_new = std::find(examples.begin(), examples.end(), example) == examples.end();
    if (examples.size() < kExamples && is_new) examples.push_back(std::move(example));
  }
  std::string line = lead + "seen " + times(count);
  if (refused > 0) line += ", refused " + times(refused);
  if (!first.empty()) line += ", first " + first;
  std::vector<std::string> lines{std::move(line)};
  for (std::string& example : examples) lines.push_back("e.g. " + std::move(example));
  return lines;
}

// Hosts that get the same rules, on one port, and all that was seen of them.
struct Target {
  std::vector<HostPattern> hosts;
  std::vector<HostName> names;
  std::uint16_t port = kUsualPorts;
  std::map<std::string, Seen> by_method;
  Seen without_request;
};

enum class Paths : bool { general, literal };

HostPattern exactly(const HostName& host) {
  return std::get<HostPattern>(HostPattern::parse(host.str()));
}

// Methods whose paths come to the same patterns share a rule.
std::vector<LearnedRule> rules_of(const Target& target, Paths paths) {
  std::map<std::vector<std::string>, std::pair<std::vector<std::string>, Seen>> by_paths;
  for (const auto& [method, seen] : target.by_method) {
    std::vector<std::string> all;
    for (const Observation* one : seen) all.push_back(one->path);
    auto& [methods, evidence] =
        by_paths[paths == Paths::general ? general_patterns(all) : literal_patterns(all)];
    methods.push_back(method);
    evidence.insert(evidence.end(), seen.begin(), seen.end());
  }
  std::vector<LearnedRule> out;
  const auto add = [&](std::vector<std::string> methods, const std::vector<std::string>& patterns,
                       std::vector<std::string> evidence) {
    for (std::size_t begin = 0; begin < patterns.size(); begin += kMaxListed) {
      LearnedRule learned;
      learned.rule.action = Action::allow;
      learned.rule.hosts = target.hosts;
      learned.rule.methods = methods;
      if (target.port != kUsualPorts) learned.rule.ports = {target.port};
      for (std::size_t i = begin; i < std::min(begin + kMaxListed, patterns.size()); ++i)
        learned.rule.paths.push_back(std::get<PathPattern>(PathPattern::parse(patterns[i])));
      learned.evidence = evidence;
      out.push_back(std::move(learned));
    }
  };
  for (auto& [patterns, found] : by_paths) {
    std::sort(found.second.begin(), found.second.end(), [](const auto* a, const auto* b) {
      return std::tie(a->first, a->authority, a->path) < std::tie(b->first, b->authority, b->path);
    });
    add(found.first, patterns, evidence_of(found.second, ""));
  }
  if (out.empty() && !target.without_request.empty()) {
    auto evidence =
        evidence_of(target.without_request, "no request yet, so nothing but its root: ");
    add({"GET", "HEAD"}, {"/"}, std::move(evidence));
  }
  return out;
}

std::vector<std::string> methods_of(const Target& target) {
  std::vector<std::string> methods;
  for (const auto& [method, seen] : target.by_method) methods.push_back(method);
  return methods;
}

// One per host and port; what is known of a host without a request goes to where requests are.
std::vector<Target> targets_of(const Seen& seen) {
  std::map<std::pair<std::uint16_t, HostName>, Target> by_place;
  const auto target = [&](std::uint16_t port, const HostName& host) -> Target& {
    Target& at = by_place[{port, host}];
    if (at.names.empty()) {
      at.names = {host};
      at.hosts = {exactly(host)};
      at.port = port;
    }
    return at;
  };
  std::set<HostName> reached;
  for (const Observation* one : seen) {
    if (one->kind != Kind::request) continue;
    target(port_class(one->authority), one->authority.host).by_method[one->method].push_back(one);
    reached.insert(one->authority.host);
  }
  for (const Observation* one : seen) {
    if (one->kind != Kind::connection) continue;
    target(port_class(one->authority), one->authority.host).without_request.push_back(one);
    reached.insert(one->authority.host);
  }
  for (const Observation* one : seen) {
    if (one->kind == Kind::name && !reached.contains(one->authority.host))
      target(kUsualPorts, one->authority.host).without_request.push_back(one);
  }
  std::vector<Target> out;
  for (auto& [place, found] : by_place) out.push_back(std::move(found));
  return out;
}

Target joined(const std::vector<const Target*>& parts, const HostPattern& wildcard) {
  Target out;
  out.hosts = {wildcard};
  out.port = parts.front()->port;
  for (const Target* part : parts) {
    out.names.insert(out.names.end(), part->names.begin(), part->names.end());
    for (const auto& [method, seen] : part->by_method) {
      Seen& all = out.by_method[method];
      all.insert(all.end(), seen.begin(), seen.end());
    }
    out.without_request.insert(out.without_request.end(), part->without_request.begin(),
                               part->without_request.end());
  }
  return out;
}

class Learner {
 public:
  Learner(const std::vector<Observation>& seen, const std::vector<Observation>& denied,
          const Policy& in_force)
      : seen_(seen), denied_(denied), in_force_(in_force) {}

  Learned run() {
    sort_out();
    keep_rules();
    add_raw();
    add_http();
    name_rules();
    check();
    for (const Observation& one : denied_)
      note("refused by a deny rule, " + times(one.count) + ": " + shown(one));
    if (unsaid_ > 0) note_always("and " + std::to_string(unsaid_) + " more");
    return std::move(out_);
  }

 private:
  void note_always(std::string line) { out_.notes.push_back(std::move(line)); }
  void note(std::string line) {
    if (out_.notes.size() < kMaxNotes)
      note_always(std::move(line));
    else
      ++unsaid_;
  }

  void sort_out() {
    for (const Observation& one : seen_) {
      const Verdict verdict = verdict_on(in_force_, one);
      if (is_let_through(verdict)) {
        kept_[verdict.rule].push_back(&one);
      } else if (!verdict.rule.empty()) {
        note("not learned, since deny rule " + verdict.rule + " refuses it: " + shown(one));
      } else if (const std::string why = obstacle(one); !why.empty()) {
        note("not learned, since " + why + ": " + shown(one));
      } else {
        new_.push_back(&one);
      }
    }
  }

  void keep_rules() {
    for (const Rule& rule : in_force_.rules()) {
      const auto found = kept_.find(rule.name);
      if (found != kept_.end())
        out_.rules.push_back({rule, evidence_of(found->second, "kept: ")});
      else if (rule.action == Action::deny)
        out_.rules.push_back({rule, {}});
    }
    kept_rules_ = all_rules();
    for (const Rule& rule : kept_rules_) {
      if (is_raw(rule.action)) raw_.push_back(rule);
    }
  }

  // Those that it could contradict: raw rules come before all others that are made.
  const std::vector<Rule>& others_than(const Rule& rule) const {
    return is_raw(rule.action) ? kept_rules_ : raw_;
  }

  std::vector<Rule> all_rules() const {
    std::vector<Rule> rules;
    for (const LearnedRule& learned : out_.rules) rules.push_back(learned.rule);
    return rules;
  }

  // Where HTTP is spoken a rule that inspects is the smaller one.
  void add_raw() {
    std::set<std::pair<HostName, std::uint16_t>> inspected;
    for (const Observation* one : new_) {
      if (one->kind == Kind::request || one->kind == Kind::connection)
        inspected.insert({one->authority.host, one->authority.port});
    }
    std::map<std::tuple<HostName, std::uint16_t, Kind>, Seen> places;
    for (const Observation* one : new_) {
      if (one->kind != Kind::raw && one->kind != Kind::tunnel) continue;
      if (!inspected.contains({one->authority.host, one->authority.port}))
        places[{one->authority.host, one->authority.port, one->kind}].push_back(one);
    }
    for (const auto& [place, seen] : places) {
      const auto& [host, port, kind] = place;
      LearnedRule learned;
      learned.rule.action = kind == Kind::tunnel ? Action::tunnel : Action::tcp;
      learned.rule.hosts = {exactly(host)};
      learned.rule.ports = {port};
      learned.evidence = evidence_of(seen, "");
      add({std::move(learned)});
    }
  }

  void add_http() {
    Seen http;
    std::set<HostName> raw_hosts;
    for (const LearnedRule& learned : out_.rules) {
      if (!is_raw(learned.rule.action)) continue;
      for (const Observation* one : new_) {
        const HostName& host = one->authority.host;
        if (one->kind == Kind::name && learned.rule.hosts.front().matches(host))
          raw_hosts.insert(host);
      }
    }
    for (const Observation* one : new_) {
      const bool resolves_already =
          one->kind == Kind::name && raw_hosts.contains(one->authority.host);
      if (one->kind != Kind::raw && one->kind != Kind::tunnel && !resolves_already)
        http.push_back(one);
    }
    const std::vector<Target> targets = targets_of(http);
    // Only hosts that are used alike may share a wildcard.
    std::map<std::pair<std::uint16_t, std::vector<std::string>>, std::vector<const Target*>> alike;
    for (const Target& target : targets)
      alike[{target.port, methods_of(target)}].push_back(&target);
    for (const auto& [how, members] : alike) add_alike(members);
  }

  void add_alike(const std::vector<const Target*>& members) {
    std::map<HostName, const Target*> by_host;
    std::vector<HostName> hosts;
    for (const Target* target : members) {
      by_host[target->names.front()] = target;
      hosts.push_back(target->names.front());
    }
    for (const HostGroup& group : group_hosts(std::move(hosts))) {
      std::vector<const Target*> parts;
      for (const HostName& host : group.hosts) parts.push_back(by_host.at(host));
      if (group.wildcard && add_if_good(joined(parts, *group.wildcard), Paths::general)) continue;
      for (const Target* part : parts) {
        if (!add_if_good(*part, Paths::general)) add(rules_of(*part, Paths::literal));
      }
    }
  }

  // Good: it allows nothing that was denied, and contradicts no rule.
  bool add_if_good(const Target& target, Paths paths) {
    std::vector<LearnedRule> rules = rules_of(target, paths);
    std::vector<Rule> plain;
    for (const LearnedRule& learned : rules) plain.push_back(learned.rule);
    const bool contradicts = std::any_of(plain.begin(), plain.end(), [&](const Rule& rule) {
      return !contradiction(rule, others_than(rule)).empty();
    });
    const Policy alone("", std::move(plain));
    const bool allows_denied =
        std::any_of(denied_.begin(), denied_.end(),
                    [&](const Observation& one) { return is_let_through(verdict_on(alone, one)); });
    if (contradicts || allows_denied) return false;
    add(std::move(rules));
    return true;
  }

  void add(std::vector<LearnedRule> rules) {
    for (LearnedRule& learned : rules) {
      const std::string against = contradiction(learned.rule, others_than(learned.rule));
      if (made_ >= kMaxLearnedRules || !against.empty()) continue;  // check() notes what it was for
      ++made_;
      if (is_raw(learned.rule.action)) raw_.push_back(learned.rule);
      out_.rules.push_back(std::move(learned));
    }
  }

  // After its host, with a number where that is taken.
  void name_rules() {
    std::set<std::string> taken;
    for (const Rule& rule : in_force_.rules()) taken.insert(rule.name);
    for (LearnedRule& learned : out_.rules) {
      if (!learned.rule.name.empty()) continue;
      std::string base = learned.rule.hosts.front().str();
      if (base.starts_with("*.")) base = "any." + base.substr(2);
      std::replace(base.begin(), base.end(), ':', '-');
      base = "learned-" + base.substr(0, 48);
      std::string name = base;
      for (int n = 2; !taken.insert(name).second; ++n) name = base + '-' + std::to_string(n);
      learned.rule.name = name;
      learned.rule.where = "learned";
    }
  }

  // The claim itself, asked of the engine.
  void check() {
    const Policy policy("", all_rules());
    for (const Observation* one : new_) {
      const Verdict verdict = verdict_on(policy, *one);
      if (is_let_through(verdict)) continue;
      note("not learned, since other rules exclude it or there are too many: " + shown(*one));
    }
  }

  const std::vector<Observation>& seen_;
  const std::vector<Observation>& denied_;
  const Policy& in_force_;
  std::map<std::string, Seen> kept_;
  Seen new_;
  std::vector<Rule> kept_rules_;
  std::vector<Rule> raw_;
  std::size_t made_ = 0;
  std::size_t unsaid_ = 0;
  Learned out_;
};

}  // namespace

Learned learn(const std::vector<Observation>& seen, const std::vector<Observation>& denied,
              const Policy& in_force) {
  return Learner(seen, denied, in_force).run();
}

}  // namespace warder
