#include "config/include.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "config/sections.hpp"
#include "config/spelling.hpp"
#include "policy/conflict.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

constexpr std::size_t kDeepest = 8;
constexpr std::size_t kMostValues = 40;     // of one parameter
constexpr std::size_t kMostRules = 10'000;  // that are included in one file, over all policies

// One entry of the list: a name, or {name: {parameter: value, methods: […]}}.
struct Entry {
  std::string name;
  YamlPlace place;
  const YamlNode* options = nullptr;

  std::string short_name() const { return name.substr(name.rfind('/') + 1); }
};

struct Included {
  Rule rule;
  YamlPlace place;  // of the entry that brought it
};

Entry entry_of(const Reader& reader, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::scalar) return {node.text, node.place, nullptr};
  if (node.kind == YamlNode::Kind::map && node.entries.size() == 1 &&
      node.entries[0].value.kind == YamlNode::Kind::map) {
    return {node.entries[0].key, node.place, &node.entries[0].value};
  }
  reader.fail(node.place,
              "an entry of 'include' must be a name such as preset/npm, or a name with its "
              "parameters such as preset/github-repository: {repository: acme/x}, not " +
                  describe(node));
}

std::vector<std::string> values_of(const Reader& reader, const YamlNode& node,
                                   const PresetParameter& parameter) {
  std::vector<std::string> values;
  const auto add = [&](const YamlNode& value) {
    const std::string& text = reader.text(value, parameter.name);
    if (const std::string why = refuse_argument(parameter, text); !why.empty())
      reader.fail(value.place, "'" + parameter.name + "' is " + in_quotes(text) + ", which " + why);
    if (std::find(values.begin(), values.end(), text) != values.end())
      reader.fail(value.place, in_quotes(text) + " stands twice in this list: remove one");
    values.push_back(text);
  };
  if (node.kind != YamlNode::Kind::list) {
    add(node);
  } else {
    for (const YamlNode& value : reader.list(node, parameter.name)) add(value);
    if (values.size() > kMostValues) {
      reader.fail(node.place, "'" + parameter.name + "' has more than " +
                                  std::to_string(kMostValues) +
                                  " values: write rules of your own for so many");
    }
  }
  return values;
}

PresetArguments arguments_of(const Reader& reader, const Entry& entry, const Preset& preset) {
  PresetArguments arguments;
  std::vector<std::string> known{"methods"};
  for (const PresetParameter& parameter : preset.parameters) known.push_back(parameter.name);
  if (entry.options != nullptr)
    reader.expect_keys(*entry.options, {"the include of " + entry.name, known});
  for (const PresetParameter& parameter : preset.parameters) {
    const YamlNode* value =
        entry.options == nullptr ? nullptr : reader.find(*entry.options, parameter.name);
    if (value == nullptr) {
      reader.fail(entry.place, entry.name + " needs '" + parameter.name + "', " + parameter.about +
                                   ": write {" + entry.name + ": {" + parameter.name + ": " +
                                   parameter.example + "}}");
    }
    arguments[parameter.name] = values_of(reader, *value, parameter);
  }
  return arguments;
}

// Of a rule without methods any is kept but what is always refused.
bool allows(const Rule& rule, const std::string& method) {
  if (!is_inspected(rule.action)) return false;
  if (!rule.methods.empty())
    return std::find(rule.methods.begin(), rule.methods.end(), method) != rule.methods.end();
  const bool is_word = !method.empty() && method.size() <= 32 &&
                       std::all_of(method.begin(), method.end(),
                                   [](char c) { return (c >= 'A' && c <= 'Z') || c == '-'; });
  return is_word && method != "TRACE" && method != "CONNECT";
}

// Keeps of the inspected rules what lies within `methods`; denies stay as they are, raw rules have no methods to keep.
void narrow(const Reader& reader, const YamlNode& node, std::vector<Included>& rules) {
  std::vector<std::string> kept;
  for (const YamlNode& item : reader.list(node, "methods")) {
    const std::string& method = reader.text(item, "methods");
    const bool is_known = std::any_of(
        rules.begin(), rules.end(), [&](const Included& one) { return allows(one.rule, method); });
    if (!is_known) {
      reader.fail(item.place, "no rule of what is included allows " + in_quotes(method) +
                                  ", and 'methods' only narrows: remove it, or add a rule of your "
                                  "own");
    }
    kept.push_back(method);
  }
  std::erase_if(rules, [&](Included& one) {
    if (one.rule.action == Action::deny) return false;
    if (is_raw(one.rule.action)) return true;
    std::vector<std::string>& methods = one.rule.methods;
    if (methods.empty()) methods = kept;
    std::erase_if(methods, [&](const std::string& method) {
      return std::find(kept.begin(), kept.end(), method) == kept.end();
    });
    return methods.empty();
  });
}

// Resolves names for one file, or for what is built in alone.
class Includes {
 public:
  Includes() = default;
  Includes(const Reader& reader, const YamlNode& node, const std::vector<PolicyConfig>& policies)
      : file_(&reader), node_(&node), own_(policies) {}

  std::vector<Included> of(const Reader& reader, const YamlNode& list) {
    std::vector<Included> all;
    std::vector<std::string> seen;
    for (const YamlNode& node : reader.list(list, "include")) {
      const Entry entry = entry_of(reader, node);
      if (std::find(seen.begin(), seen.end(), entry.name) != seen.end()) {
        reader.fail(entry.place, in_quotes(entry.name) +
                                     " stands twice in this list: remove one (a parameter takes a "
                                     "list of values)");
      }
      seen.push_back(entry.name);
      for (Included& one : of(reader, entry)) all.push_back(std::move(one));
      if (all.size() > Reader::kMaxList) {
        reader.fail(entry.place, "'include' brings more than " + std::to_string(Reader::kMaxList) +
                                     " rules: include less");
      }
    }
    return all;
  }

  // Its own rules and those that it includes.
  std::vector<Included> of(const Preset& preset, const PresetArguments& arguments) {
    const Reader reader(preset.name);
    const std::string kind = preset.name.substr(0, preset.name.find('/') + 1);
    std::vector<Included> all;
    if (const YamlNode* rules = reader.find(preset.root, "rules")) {
      for (Rule& rule : read_rules(reader, filled_in(*rules, arguments))) {
        rule.where = kind + rule.where;
        all.push_back({std::move(rule), {}});
      }
    }
    if (const YamlNode* include = reader.find(preset.root, "include")) {
      for (Included& one : of(reader, *include)) all.push_back(std::move(one));
    }
    return all;
  }

  // What the policy `name` includes.
  std::vector<Included> of(const std::string& name, const YamlNode& list) {
    open_ = {name};
    return of(*file_, list);
  }

 private:
  std::vector<Included> of(const Reader& reader, const Entry& entry) {
    refuse_circle(reader, entry);
    open_.push_back(entry.name);
    std::vector<Included> rules;
    if (const auto preset = find_preset(entry.name)) {
      rules = of(*preset, arguments_of(reader, entry, *preset));
    } else {
      rules = of_policy(reader, entry);
    }
    open_.pop_back();
    if (entry.options != nullptr) {
      if (const YamlNode* methods = reader.find(*entry.options, "methods"))
        narrow(reader, *methods, rules);
    }
    for (Included& one : rules) {
      one.place = entry.place;
      one.rule.name = entry.short_name() + '.' + one.rule.name;
      if (!is_rule_name(one.rule.name)) {
        reader.fail(entry.place, "an included rule would be named " + in_quotes(one.rule.name) +
                                     ", which is longer than 64 characters: give it, or the "
                                     "policy, a shorter name");
      }
    }
    return rules;
  }

  void refuse_circle(const Reader& reader, const Entry& entry) const {
    if (std::find(open_.begin(), open_.end(), entry.name) != open_.end()) {
      std::string circle;
      for (const std::string& name : open_) circle += in_quotes(name) + " includes ";
      reader.fail(entry.place, "'include' goes in a circle: " + circle + in_quotes(entry.name) +
                                   ": remove one of them");
    }
    if (open_.size() >= kDeepest) {
      reader.fail(entry.place, "'include' goes more than " + std::to_string(kDeepest) +
                                   " deep: include what is needed itself");
    }
  }

  std::vector<Included> of_policy(const Reader& reader, const Entry& entry) {
    const auto at = std::find_if(own_.begin(), own_.end(), [&](const PolicyConfig& policy) {
      return policy.name == entry.name;
    });
    if (at == own_.end()) refuse_unknown(reader, entry);
    if (entry.options != nullptr)
      reader.expect_keys(*entry.options, {"the include of a policy", {"methods"}});
    if (const auto known = resolved_.find(entry.name); known != resolved_.end())
      return known->second;
    std::vector<Included> all;
    for (const Rule& rule : at->rules) all.push_back({rule, {}});
    const YamlNode& node = node_->entries[static_cast<std::size_t>(at - own_.begin())].value;
    if (const YamlNode* include = file_->find(node, "include")) {
      for (Included& one : of(*file_, *include)) all.push_back(std::move(one));
    }
    resolved_[entry.name] = all;
    return all;
  }

  [[noreturn]] void refuse_unknown(const Reader& reader, const Entry& entry) const {
    std::vector<std::string> known = preset_names();
    for (const std::string& name : profile_names()) known.push_back(name);
    for (const PolicyConfig& policy : own_) known.push_back(policy.name);
    // Who writes "npm" means preset/npm.
    for (const std::string& name : known) {
      if (name.substr(name.find('/') + 1) == entry.name)
        reader.fail(entry.place, "unknown name " + in_quotes(entry.name) +
                                     " in 'include': did you mean '" + name + "'?");
    }
    reader.fail(entry.place,
                "unknown name " + in_quotes(entry.name) + " in 'include'" +
                    did_you_mean(entry.name, known,
                                 ": `warder preset list` shows the presets, and policies of this "
                                 "file go by their name"));
  }

  const Reader* file_ = nullptr;
  const YamlNode* node_ = nullptr;
  std::vector<PolicyConfig>
      own_;  // before any include: what is included twice is not brought twice
  std::vector<std::string> open_;
  std::map<std::string, std::vector<Included>> resolved_;
};

void append(const Reader& reader, Included included, PolicyConfig& policy) {
  const auto same = std::find_if(policy.rules.begin(), policy.rules.end(), [&](const Rule& other) {
    return other.name == included.rule.name;
  });
  if (same != policy.rules.end()) {
    reader.fail(included.place, "this include brings rule '" + included.rule.name + "' (" +
                                    included.rule.where + "), a name that another rule has (" +
                                    same->where + "): give that one another name");
  }
  if (const std::string sentence = contradiction(included.rule, policy.rules); !sentence.empty())
    reader.fail(included.place, "in what is included: " + sentence);
  policy.rules.push_back(std::move(included.rule));
}

}  // namespace

void add_includes(const Reader& reader, const YamlNode& node, std::vector<PolicyConfig>& policies) {
  Includes includes(reader, node, policies);
  std::size_t total = 0;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const YamlNode* include = reader.find(node.entries[i].value, "include");
    if (include == nullptr) continue;
    for (Included& one : includes.of(policies[i].name, *include)) {
      if (++total > kMostRules) {
        reader.fail(one.place, "the policies of this file include more than " +
                                   std::to_string(kMostRules) + " rules: include less");
      }
      append(reader, std::move(one), policies[i]);
    }
  }
}

std::vector<Rule> preset_rules(const Preset& preset, const PresetArguments& arguments) {
  std::vector<Rule> rules;
  for (Included& one : Includes().of(preset, arguments)) {
    one.rule.name = preset.name.substr(preset.name.rfind('/') + 1) + '.' + one.rule.name;
    rules.push_back(std::move(one.rule));
  }
  return rules;
}

}  // namespace warder
