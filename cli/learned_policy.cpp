#include "cli/learned_policy.hpp"

#include <algorithm>

#include "config/load.hpp"
#include "policy/conflict.hpp"

namespace warder {
namespace {

// A grant at a host that nothing but a raw rule reaches would be refused at load.
template <class Grants, class HostsOf>
void drop_raw_hosts(Grants& grants, const std::vector<Rule>& rules, HostsOf hosts_of) {
  for (auto& grant : grants) {
    std::erase_if(hosts_of(grant),
                  [&](const HostPattern& host) { return !only_raw_rule_for(host, rules).empty(); });
  }
  std::erase_if(grants, [&](auto& grant) { return hosts_of(grant).empty(); });
}

void fit_grants(PolicyConfig& policy) {
  const auto hosts = [](auto& grant) -> auto& { return grant.hosts; };
  drop_raw_hosts(policy.grants, policy.rules, hosts);
  drop_raw_hosts(policy.certificates, policy.rules, hosts);
  drop_raw_hosts(policy.captures, policy.rules, hosts);
  drop_raw_hosts(policy.captures, policy.rules, [](Capture& one) -> auto& { return one.from; });
}

std::vector<std::string> head_of(const Gathered& gathered, const std::vector<std::string>& notes) {
  std::vector<std::string> head{
      "Learned from " + counted(gathered.records, "record", "records") + " of " +
          counted(gathered.sessions.size(), "session", "sessions") +
          ", which were not verified (warder audit verify does that).",
      "Look at each rule before you use it: whoever was in the sandbox chose what stands in the "
      "evidence."};
  const auto add = [&](const char* what, std::uint64_t count) {
    if (count > 0) head.push_back(what + std::to_string(count));
  };
  add("Lines that are no records: ", gathered.not_records);
  add("Refusals that were recorded by their number alone: ", gathered.uncounted);
  add("Exchanges that are no evidence (tripwires, credentials of the sandbox's own, addresses that "
      "are not dialled): ",
      gathered.tripwires);
  add("Observations that were too many, and are left out: ", gathered.left_out);
  head.insert(head.end(), notes.begin(), notes.end());
  return head;
}

}  // namespace

std::string counted(std::uint64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

PolicyConfig& policy_of(Config& config, const std::string& name) {
  for (PolicyConfig& policy : config.policies) {
    if (policy.name == name) return policy;
  }
  PolicyConfig made;
  made.name = name;
  return config.policies.emplace_back(std::move(made));
}

std::string learned_yaml(Config config, const std::string& name, const Gathered& gathered) {
  PolicyConfig& policy = policy_of(config, name);
  const Learned learned = learn(gathered.seen, gathered.denied, Policy(policy.name, policy.rules));
  YamlComments comments{head_of(gathered, learned.notes), {}};
  policy.rules.clear();
  policy.observes = false;
  for (const LearnedRule& one : learned.rules) {
    policy.rules.push_back(one.rule);
    if (!one.evidence.empty()) comments.of_rule[one.rule.name] = one.evidence;
  }
  fit_grants(policy);
  std::string yaml = to_yaml(config, name, comments);
  (void)parse_config(yaml, "learned.yaml");
  return yaml;
}

}  // namespace warder
