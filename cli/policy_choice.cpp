#include "cli/policy_choice.hpp"

#include "policy/quote.hpp"

namespace warder {

const PolicyConfig& chosen_policy(const Config& config, const std::string& name) {
  if (const PolicyConfig* named = config.policy(name)) return *named;
  if (name.empty() && config.policies.size() == 1) return config.policies.front();
  std::string there;
  for (const PolicyConfig& policy : config.policies) there += ' ' + policy.name;
  const std::string file = config.file.string();
  if (there.empty()) throw ConfigError(file + " has no policy: add one under 'policies'");
  if (name.empty())
    throw ConfigError(file + " has several policies: say --policy with one of" + there);
  throw ConfigError(file + " has no policy named " + in_quotes(name) + "; it has" + there);
}

}  // namespace warder
