#include "cli/learn_diff.hpp"

#include <algorithm>
#include <boost/json.hpp>

namespace warder {
namespace {

namespace json = boost::json;

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::vector<std::string> texts(const std::vector<HostPattern>& hosts) {
  std::vector<std::string> out;
  for (const HostPattern& host : hosts) out.push_back(host.str());
  return out;
}

// Hosts at which nothing of that name was used; `is_it` tells names.
template <class IsIt>
std::vector<std::string> hosts_without_use(const std::vector<HostPattern>& hosts,
                                           const Gathered& gathered, IsIt is_it) {
  std::vector<std::string> out;
  for (const HostPattern& host : hosts) {
    const bool used = std::any_of(gathered.uses.begin(), gathered.uses.end(), [&](const auto& use) {
      return is_it(use.first) && host.matches(use.second);
    });
    if (!used) out.push_back(host.str());
  }
  return out;
}

json::array array_of(const std::vector<std::string>& words) {
  json::array out;
  for (const std::string& word : words) out.emplace_back(word);
  return out;
}

}  // namespace

Unused unused_of(const PolicyConfig& policy, const Gathered& gathered) {
  Unused unused;
  for (const Rule& rule : policy.rules) {
    if (rule.action == Action::deny) continue;
    const auto used = gathered.hosts_of_rule.find(rule.name);
    if (used == gathered.hosts_of_rule.end()) {
      unused.rules.push_back({rule.name, rule.where, texts(rule.hosts), true});
      continue;
    }
    std::vector<std::string> hosts;
    for (const HostPattern& host : rule.hosts) {
      const bool seen = std::any_of(used->second.begin(), used->second.end(),
                                    [&](const HostName& name) { return host.matches(name); });
      if (!seen) hosts.push_back(host.str());
    }
    if (!hosts.empty()) unused.rules.push_back({rule.name, rule.where, std::move(hosts), false});
  }
  const auto add = [&](const std::string& name, const std::string& where,
                       std::vector<std::string> hosts) {
    if (!hosts.empty()) unused.grants.push_back({name, where, std::move(hosts)});
  };
  for (const Grant& grant : policy.grants) {
    const auto is_it = [&](const std::string& name) { return name == grant.secret; };
    add(grant.secret, grant.where, hosts_without_use(grant.hosts, gathered, is_it));
  }
  for (const CertificateGrant& grant : policy.certificates) {
    const auto is_it = [](const std::string& name) { return name == "client_certificate"; };
    add("client_certificate", grant.where, hosts_without_use(grant.hosts, gathered, is_it));
  }
  for (const Capture& capture : policy.captures) {
    const auto is_it = [&](const std::string& name) {
      return name.starts_with(capture.name + '.');
    };
    add(capture.name, capture.where, hosts_without_use(capture.hosts, gathered, is_it));
  }
  return unused;
}

std::string text_of(const Unused& unused) {
  if (unused.empty()) return "everything that it grants was used\n";
  std::string out = "granted, and not used:\n";
  for (const UnusedRule& rule : unused.rules) {
    out += rule.is_whole
               ? "  rule '" + rule.rule + "' (" + rule.where + "): " + joined(rule.hosts)
               : "  " + joined(rule.hosts) + " of rule '" + rule.rule + "' (" + rule.where + ')';
    out += '\n';
  }
  for (const UnusedGrant& grant : unused.grants) {
    out += "  grant of '" + grant.secret + "' (" + grant.where + "): " + joined(grant.hosts) + '\n';
  }
  return out;
}

std::string json_of(const Unused& unused, const PolicyConfig& policy, const Gathered& gathered) {
  json::array rules;
  for (const UnusedRule& rule : unused.rules) {
    rules.push_back({{"rule", rule.rule},
                     {"where", rule.where},
                     {"unused", rule.is_whole ? "rule" : "hosts"},
                     {"hosts", array_of(rule.hosts)}});
  }
  json::array grants;
  for (const UnusedGrant& grant : unused.grants) {
    grants.push_back(
        {{"name", grant.secret}, {"where", grant.where}, {"hosts", array_of(grant.hosts)}});
  }
  const json::object out{{"policy", policy.name},
                         {"records", gathered.records},
                         {"sessions", gathered.sessions.size()},
                         {"verified", false},
                         {"rules", std::move(rules)},
                         {"grants", std::move(grants)}};
  return json::serialize(out) + '\n';
}

}  // namespace warder
