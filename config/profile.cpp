#include "config/profile.hpp"

#include <algorithm>
#include <filesystem>

#include "config/include.hpp"
#include "config/sections.hpp"
#include "config/spelling.hpp"
#include "policy/conflict.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

constexpr std::string_view kLead = "profile/";

std::vector<std::string> known_profiles() {
  std::vector<std::string> names = profile_names();
  for (std::string& name : names) name.erase(0, kLead.size());
  return names;
}

std::vector<std::string> read_words(const Reader& reader, const YamlNode& root, const char* key) {
  std::vector<std::string> words;
  const YamlNode* node = reader.find(root, key);
  if (node == nullptr) return words;
  for (const YamlNode& item : reader.list(*node, key)) words.push_back(reader.text(item, key));
  return words;
}

HomePlace read_place(const Reader& reader, const YamlEntry& entry) {
  HomePlace place{entry.key, HomePlace::How::read_only};
  const std::filesystem::path path = entry.key;
  if (path.empty() || path.is_absolute() || path.lexically_normal() != path ||
      *path.begin() == ".." || !path.has_filename()) {
    reader.fail(entry.place, in_quotes(entry.key) + " is no plain path below the home");
  }
  std::vector<std::string> known;
  for (const auto how :
       {HomePlace::How::read_only, HomePlace::How::private_copy, HomePlace::How::kept}) {
    place.how = how;
    if (reader.text(entry.value, entry.key) == to_string(how)) return place;
    known.emplace_back(to_string(how));
  }
  reader.fail(entry.value.place, "a directory cannot be shown " + in_quotes(entry.value.text) +
                                     did_you_mean(entry.value.text, known));
}

template <class List>
std::string name_of_rule(const List& rules, const std::string& name) {
  const auto same =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.name == name; });
  return same == rules.end() ? "" : same->where;
}

void add_rules(PolicyConfig& policy, const Profile& profile) {
  for (const Rule& rule : profile.rules) {
    const std::string known = name_of_rule(policy.rules, rule.name);
    if (known == rule.where) continue;  // the policy includes the profile itself
    if (!known.empty()) {
      throw ConfigError("--profile " + profile.name + " brings rule '" + rule.name +
                        "', a name that a rule at " + known + " has: give that one another name");
    }
    if (const std::string sentence = contradiction(rule, policy.rules); !sentence.empty())
      throw ConfigError("--profile " + profile.name + ": " + sentence);
    policy.rules.push_back(rule);
  }
}

// The configuration's own secret for the variable, which counts more than the profile's.
const SecretConfig* own_secret(const Config& config, const SecretConfig& wanted) {
  const auto same =
      std::find_if(config.secrets.begin(), config.secrets.end(), [&](const SecretConfig& secret) {
        const bool reads_it =
            secret.source.kind == SourceConfig::Kind::env && secret.source.env == wanted.source.env;
        return reads_it || secret.placeholder_env == wanted.placeholder_env ||
               secret.name == wanted.name;
      });
  return same == config.secrets.end() ? nullptr : &*same;
}

bool grants(const PolicyConfig& policy, const std::string& secret) {
  return std::any_of(policy.grants.begin(), policy.grants.end(),
                     [&](const Grant& grant) { return grant.secret == secret; });
}

}  // namespace

Profile read_profile(const std::string& name) {
  const auto preset = find_preset(std::string(kLead) + name);
  if (!preset || name.empty()) {
    const std::string fitting = profile_for(name);
    throw ConfigError("--profile " + in_quotes(name) + ": there is no such profile" +
                      (fitting.empty() ? did_you_mean(name, known_profiles())
                                       : ": did you mean '" + fitting + "'?"));
  }
  const Reader reader(preset->name);
  const YamlNode& root = preset->root;
  Profile profile;
  profile.name = name;
  profile.about = preset->about;
  profile.commands = read_words(reader, root, "command");
  profile.rules = preset_rules(*preset, {});
  if (const YamlNode* secrets = reader.find(root, "secrets"))
    profile.secrets = read_secrets(reader, *secrets);
  if (const YamlNode* grants_node = reader.find(root, "grants")) {
    profile.grants = read_grants(reader, *grants_node, profile.secrets);
    profile.captures = read_captures(reader, *grants_node);
  }
  const std::string kind(kLead);
  for (SecretConfig& secret : profile.secrets) secret.where = kind + secret.where;
  for (Grant& grant : profile.grants) grant.where = kind + grant.where;
  for (Capture& capture : profile.captures) capture.where = kind + capture.where;
  if (const YamlNode* directories = reader.find(root, "directories")) {
    for (const YamlEntry& entry : directories->entries)
      profile.home.push_back(read_place(reader, entry));
  }
  if (const YamlNode* environment = reader.find(root, "environment")) {
    for (const YamlEntry& entry : environment->entries)
      profile.environment[entry.key] = reader.text(entry.value, entry.key);
  }
  profile.pass = read_words(reader, root, "pass");
  profile.trust = read_words(reader, root, "trust");
  return profile;
}

std::string profile_for(std::string_view program) {
  const std::string name = std::filesystem::path(program).filename();
  for (const std::string& known : known_profiles()) {
    const Profile profile = read_profile(known);
    if (std::find(profile.commands.begin(), profile.commands.end(), name) != profile.commands.end())
      return known;
  }
  return "";
}

ProfileSecrets apply_profile(Config& config, const std::string& policy_name, const Profile& profile,
                             const std::function<bool(const std::string&)>& is_set) {
  Config changed = config;
  auto policy = std::find_if(changed.policies.begin(), changed.policies.end(),
                             [&](const PolicyConfig& item) { return item.name == policy_name; });
  if (policy == changed.policies.end()) {
    PolicyConfig made;
    made.name = policy_name;
    made.where = "--profile " + profile.name;
    policy = changed.policies.insert(policy, std::move(made));
  }
  add_rules(*policy, profile);
  ProfileSecrets secrets;
  for (const SecretConfig& wanted : profile.secrets) {
    const SecretConfig* own = own_secret(changed, wanted);
    std::string name = own != nullptr ? own->name : wanted.name;
    if (own == nullptr && !is_set(wanted.source.env)) {
      secrets.missing.push_back(wanted.source.env);
      continue;
    }
    secrets.found.push_back(wanted.source.env);
    if (own == nullptr) changed.secrets.push_back(wanted);
    if (grants(*policy, name)) continue;
    for (Grant grant : profile.grants) {
      if (grant.secret != wanted.name) continue;
      grant.secret = name;
      policy->grants.push_back(std::move(grant));
    }
  }
  for (const Capture& capture : profile.captures) {
    if (secrets.found.empty()) break;
    const bool known = std::any_of(policy->captures.begin(), policy->captures.end(),
                                   [&](const Capture& own) { return own.name == capture.name; });
    if (!known) policy->captures.push_back(capture);
  }
  config = std::move(changed);
  return secrets;
}

}  // namespace warder
