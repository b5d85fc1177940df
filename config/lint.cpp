#include "config/lint.hpp"

#include <algorithm>

#include "config/presets.hpp"
#include "policy/policy.hpp"
#include "policy/public_suffix.hpp"
#include "policy/rule_match.hpp"
#include "policy/shadow.hpp"
#include "policy/shared_hosts.hpp"

namespace warder {
namespace {

using Kind = Finding::Kind;
using Findings = std::vector<Finding>;

std::string named(const Rule& rule) { return "rule '" + rule.name + "'"; }

std::string shadow_sentence(const Rule& rule, const Rule& by) {
  std::string out = named(rule) + " never decides: " + named(by) + " (" + by.where + ") ";
  if (by.action == Action::deny) {
    out += "denies whatever it could match: ";
    return out + (rule.action == Action::deny ? "remove it" : "remove it, or narrow the deny");
  }
  return out + "stands before it and matches whatever it could match: remove it, or move it up";
}

void add_shadows(Findings& out, const PolicyConfig& policy) {
  for (const Shadow& shadow : shadowed(policy.rules)) {
    const Rule& rule = policy.rules[shadow.rule];
    // Own rules before a preset's are how one is overridden, and nobody can remove a rule from it.
    if (is_built_in(rule.where)) continue;
    out.push_back(
        {Kind::shadowed_rule, rule.where, shadow_sentence(rule, policy.rules[shadow.by])});
  }
}

// "*." or "**." right above names that anybody can register.
void add_public_suffixes(Findings& out, const std::string& where, const std::string& what,
                         const std::vector<HostPattern>& hosts) {
  for (const HostPattern& pattern : hosts) {
    const bool is_wildcard = pattern.kind() == HostPattern::Kind::below ||
                             pattern.kind() == HostPattern::Kind::apex_and_below;
    if (!is_wildcard) continue;
    const std::string text = pattern.str();
    const auto name = HostName::parse(text.substr(text.find_first_not_of("*.")));
    if (!name || !is_public_suffix(*name)) continue;
    out.push_back({Kind::public_suffix, where,
                   what + " has the host " + text + ", and anybody can register a name below " +
                       name->str() + ": name the hosts that are meant"});
  }
}

enum class ClearText : bool { no, yes };

// Does a rule have requests to such a host inspected, where a secret may be in them?
bool is_reachable(const HostPattern& host, const std::vector<Rule>& rules, ClearText clear) {
  return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
    if (!is_inspected(rule.action)) return false;
    const bool is_clear = rule.ports == std::vector<std::uint16_t>{80};
    if (is_clear && clear == ClearText::no) return false;
    return std::any_of(rule.hosts.begin(), rule.hosts.end(),
                       [&](const HostPattern& one) { return one.overlaps(host); });
  });
}

// One grant of whatever kind.
struct Granted {
  std::string what;   // "the grant of 'github'"
  std::string where;  // file:line
  const std::vector<HostPattern>& hosts;
  ClearText clear = ClearText::no;
};

void add_grant(Findings& out, const Granted& grant, const std::vector<Rule>& rules) {
  for (const HostPattern& host : grant.hosts) {
    if (!is_reachable(host, rules, grant.clear)) {
      const bool by_clear = is_reachable(host, rules, ClearText::yes);
      out.push_back({Kind::unreachable_grant, grant.where,
                     grant.what + " names the host " + host.str() + ", which " +
                         (by_clear ? "rules reach in clear text (port 80) alone, where it is "
                                     "never used: allow port 443, or remove the host"
                                   : "no rule allows: add a rule for it, or remove the host")});
    }
    if (const std::string shared = shared_hosting(host); !shared.empty()) {
      out.push_back({Kind::shared_host, grant.where,
                     grant.what + " names the host " + host.str() + ", which is of " + shared +
                         ", where everybody can put what answers there: name a host that is "
                         "yours alone"});
    }
  }
  add_public_suffixes(out, grant.where, grant.what, grant.hosts);
}

void add_grants(Findings& out, const PolicyConfig& policy) {
  const auto& rules = policy.rules;
  for (const Grant& grant : policy.grants) {
    const ClearText clear = grant.plain_http ? ClearText::yes : ClearText::no;
    add_grant(out, {"the grant of '" + grant.secret + "'", grant.where, grant.hosts, clear}, rules);
  }
  for (const CertificateGrant& grant : policy.certificates)
    add_grant(out, {"the client certificate", grant.where, grant.hosts}, rules);
  for (const Capture& capture : policy.captures) {
    const std::string what = "the capture '" + capture.name + "'";
    add_grant(out, {what, capture.where, capture.from}, rules);
    add_grant(out, {what, capture.where, capture.hosts}, rules);
  }
}

void add_policy(Findings& out, const PolicyConfig& policy) {
  add_shadows(out, policy);
  for (const Rule& rule : policy.rules) {
    if (rule.action != Action::deny) add_public_suffixes(out, rule.where, named(rule), rule.hosts);
  }
  add_grants(out, policy);
  if (policy.tests.empty()) return;
  const Policy compiled(policy.name, policy.rules);
  for (const PolicyTest& test : policy.tests) {
    if (std::string sentence = failure_of(test, compiled); !sentence.empty())
      out.push_back({Kind::failed_test, test.where, std::move(sentence)});
  }
}

void add_unused_secrets(Findings& out, const Config& config) {
  for (const SecretConfig& secret : config.secrets) {
    const bool is_used =
        std::any_of(config.policies.begin(), config.policies.end(), [&](const auto& policy) {
          return std::any_of(policy.grants.begin(), policy.grants.end(),
                             [&](const Grant& grant) { return grant.secret == secret.name; });
        });
    if (is_used) continue;
    out.push_back(
        {Kind::unused_secret, secret.where,
         "no grant uses the secret '" + secret.name + "': grant it where it may go, or remove it"});
  }
}

}  // namespace

std::string_view to_string(Finding::Kind kind) {
  switch (kind) {
    case Kind::shadowed_rule: return "shadowed_rule";
    case Kind::unreachable_grant: return "unreachable_grant";
    case Kind::public_suffix: return "public_suffix";
    case Kind::shared_host: return "shared_host";
    case Kind::unused_secret: return "unused_secret";
    case Kind::failed_test: return "failed_test";
  }
  return "";
}

std::vector<Finding> lint(const Config& config, std::string_view policy) {
  Findings out;
  add_unused_secrets(out, config);
  for (const PolicyConfig& one : config.policies) {
    if (policy.empty() || one.name == policy) add_policy(out, one);
  }
  return out;
}

}  // namespace warder
