#include <algorithm>
#include <unordered_map>

#include "config/keys.hpp"
#include "config/rule_matchers.hpp"
#include "config/sections.hpp"
#include "config/spelling.hpp"
#include "http/chars.hpp"
#include "policy/conflict.hpp"
#include "policy/host_service.hpp"
#include "policy/quote.hpp"

namespace warder {

const Keys& rule_keys() {
  static const Keys kKeys{"a rule",
                          {"name", "hosts", "ports", "methods", "paths", "query", "headers",
                           "max_body", "action", "allow_private"}};
  return kKeys;
}

namespace {

constexpr std::size_t kMaxRules = 20'000;

template <class Pattern>
Pattern pattern_of(const Reader& reader, const YamlNode& node, std::string_view key) {
  auto parsed = Pattern::parse(reader.text(node, key));
  if (auto* sentence = std::get_if<std::string>(&parsed)) {
    reader.fail(node.place, std::string(key) + ": " + *sentence);
  }
  return std::get<Pattern>(std::move(parsed));
}

template <class T>
void add_once(const Reader& reader, const YamlNode& node, std::vector<T>& list, T value) {
  if (std::find(list.begin(), list.end(), value) != list.end()) {
    reader.fail(node.place, in_quotes(node.text) + " stands twice in this list: remove one");
  }
  list.push_back(std::move(value));
}

std::string method_of(const Reader& reader, const YamlNode& node) {
  const std::string& method = reader.text(node, "methods");
  const std::string entry = "method " + in_quotes(method);
  if (method == "*") reader.fail(node.place, entry + ": leave 'methods' out to mean any");
  if (method.empty() || method.size() > 32 || !all_in(kTokenChar, method)) {
    reader.fail(node.place, entry + " is not a method: write a word such as GET");
  }
  std::string upper = method;
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  if (upper != method) {
    reader.fail(node.place,
                entry + " is not in upper case, and methods are case-sensitive: write " + upper);
  }
  return method;
}

Action action_of(const Reader& reader, const YamlNode& node) {
  const std::string& action = reader.text(node, "action");
  std::vector<std::string> known;
  for (const Action one : {Action::allow, Action::deny, Action::ask, Action::tcp, Action::tunnel}) {
    if (action == to_string(one)) return one;
    known.emplace_back(to_string(one));
  }
  reader.fail(node.place, "unknown action " + in_quotes(action) + did_you_mean(action, known));
}

// A `tcp` or `tunnel` rule is decided by host and port alone, before a byte is read.
void refuse_impossible_raw(const Reader& reader, const YamlNode& node, const Rule& rule) {
  const std::string action(to_string(rule.action));
  const std::string begin = "rule '" + rule.name + "' has action " + action;
  if (rule.ports.empty()) {
    reader.fail(node.place, begin + " and no 'ports', which it needs: add them, such as " +
                                (rule.action == Action::tcp ? "ports: [5432]" : "ports: [443]"));
  }
  for (const std::string_view key : {"methods", "paths", "query", "headers", "max_body"}) {
    if (reader.find(node, key) == nullptr) continue;
    reader.fail(node.place, begin + ", which inspects nothing, and '" + std::string(key) +
                                "': remove '" + std::string(key) + "', or write action: allow");
  }
  if (std::find(rule.ports.begin(), rule.ports.end(), kDnsPort) != rule.ports.end()) {
    reader.fail(node.place,
                begin +
                    " on port 53, which can never work: every TCP connection of the "
                    "sandbox to port 53 is answered as DNS by Warder itself: remove 53");
  }
}

void refuse_contradictions(const Reader& reader, const YamlNode& node, const Rule& rule) {
  if (const std::string fault = host_service_fault(rule); !fault.empty())
    reader.fail(node.place, fault);
  if (is_raw(rule.action)) refuse_impossible_raw(reader, node, rule);
  if (rule.action == Action::deny && rule.allow_private) {
    reader.fail(node.place,
                "rule '" + rule.name +
                    "' is a deny with allow_private, which contradict: " + "remove allow_private");
  }
  if (rule.action == Action::deny && rule.max_body) {
    reader.fail(node.place, "rule '" + rule.name +
                                "' is a deny with max_body, which says how much is allowed: remove "
                                "it, and write it in the rule that allows");
  }
  for (const std::string& method : rule.methods) {
    if (is_inspected(rule.action) && (method == "TRACE" || method == "CONNECT")) {
      reader.fail(node.place, "rule '" + rule.name + "' allows method \"" + method +
                                  "\", which is always refused: remove it");
    }
  }
}

Rule read_rule(const Reader& reader, const YamlNode& node, std::size_t place) {
  if (node.kind != YamlNode::Kind::map) {
    reader.fail(node.place,
                "a rule must be a map such as {hosts: [api.example.com], action: allow}, not " +
                    describe(node));
  }
  reader.expect_keys(node, rule_keys());
  Rule rule;
  rule.where = reader.where(node.place);
  rule.name = "rule-" + std::to_string(place);
  if (const YamlNode* name = reader.find(node, "name")) {
    rule.name = reader.text(*name, "name");
    if (!is_rule_name(rule.name)) {
      reader.fail(name->place, "rule name " + in_quotes(rule.name) +
                                   " may have letters, digits, '.', '-' and '_' only, up to 64");
    }
  }
  rule.hosts = read_hosts(reader, reader.need(node, "hosts", rule_keys()));
  if (const YamlNode* ports = reader.find(node, "ports")) {
    for (const YamlNode& item : reader.list(*ports, "ports")) {
      add_once(reader, item, rule.ports, reader.port(item));
    }
  }
  if (const YamlNode* methods = reader.find(node, "methods")) {
    for (const YamlNode& item : reader.list(*methods, "methods")) {
      add_once(reader, item, rule.methods, method_of(reader, item));
    }
  }
  if (const YamlNode* paths = reader.find(node, "paths")) {
    for (const YamlNode& item : reader.list(*paths, "paths")) {
      add_once(reader, item, rule.paths, pattern_of<PathPattern>(reader, item, "paths"));
    }
  }
  if (const YamlNode* query = reader.find(node, "query")) rule.query = read_query(reader, *query);
  if (const YamlNode* headers = reader.find(node, "headers"))
    rule.headers = read_header_matches(reader, *headers);
  if (const YamlNode* size = reader.find(node, "max_body"))
    rule.max_body = read_size(reader, *size, "max_body");
  rule.action = action_of(reader, reader.need(node, "action", rule_keys()));
  if (const YamlNode* value = reader.find(node, "allow_private")) {
    rule.allow_private = reader.yes_or_no(*value, "allow_private");
  }
  refuse_contradictions(reader, node, rule);
  return rule;
}

}  // namespace

std::vector<HostPattern> read_hosts(const Reader& reader, const YamlNode& node) {
  std::vector<HostPattern> hosts;
  for (const YamlNode& item : reader.list(node, "hosts")) {
    add_once(reader, item, hosts, pattern_of<HostPattern>(reader, item, "hosts"));
  }
  return hosts;
}

std::vector<Rule> read_rules(const Reader& reader, const YamlNode& node) {
  std::vector<Rule> rules;
  if (node.kind != YamlNode::Kind::list) {
    reader.fail(node.place, "'rules' must be a list, not " + describe(node));
  }
  std::unordered_map<std::string, std::string> named;  // and where
  for (const YamlNode& item : reader.bounded(node, "rules", kMaxRules)) {
    Rule rule = read_rule(reader, item, rules.size() + 1);
    const auto [same, is_new] = named.emplace(rule.name, rule.where);
    if (!is_new) {
      reader.fail(item.place, "rule '" + rule.name + "' stands twice in this policy (first at " +
                                  same->second + "): give one another name");
    }
    rules.push_back(std::move(rule));
  }
  if (const auto conflict = first_contradiction(rules))
    reader.fail(node.items[conflict->rule].place, conflict->sentence);
  return rules;
}

}  // namespace warder
