#include "config/policy_tests.hpp"
#include "config/keys.hpp"

#include <algorithm>
#include <optional>

#include "config/keys.hpp"
#include "config/rule_matchers.hpp"
#include "config/sections.hpp"
#include "config/spelling.hpp"
#include "policy/explain.hpp"
#include "policy/quote.hpp"

namespace warder {

const Keys& test_keys() {
  static const Keys kKeys{"a test",
                          {"url", "method", "headers", "body", "expect", "rule", "reason"}};
  return kKeys;
}

namespace {

Action expectation_of(const Reader& reader, const YamlNode& node) {
  const std::string& text = reader.text(node, "expect");
  std::vector<std::string> known;
  for (const Action one : {Action::allow, Action::deny, Action::ask, Action::tunnel, Action::tcp}) {
    if (text == to_string(one)) return one;
    known.emplace_back(to_string(one));
  }
  reader.fail(node.place, "'expect' is " + in_quotes(text) + did_you_mean(text, known));
}

Reason reason_of(const Reader& reader, const YamlNode& node) {
  const std::string& text = reader.text(node, "reason");
  std::vector<std::string> known;
  // What the policy itself says; all else depends on more than the request.
  for (const Reason one :
       {Reason::host_not_allowed, Reason::port_not_allowed, Reason::method_not_allowed,
        Reason::path_not_allowed, Reason::query_not_allowed, Reason::header_not_allowed,
        Reason::too_large, Reason::malformed_request}) {
    if (text == to_string(one)) return one;
    known.emplace_back(to_string(one));
  }
  reader.fail(node.place, "'reason' is " + in_quotes(text) + did_you_mean(text, known));
}

void read_fields(const Reader& reader, const YamlNode& node, SupposedRequest& question) {
  reader.expect_map(node, "headers");
  for (const YamlEntry& entry : node.entries) {
    const std::string wrong =
        add_field(question, entry.key, reader.text(entry.value, "a header field"));
    if (!wrong.empty()) reader.fail(entry.place, wrong);
  }
}

SupposedRequest question_of(const Reader& reader, const YamlNode& node) {
  const YamlNode& url = reader.need(node, "url", test_keys());
  const YamlNode* method = reader.find(node, "method");
  auto read = read_supposed_request(reader.text(url, "url"),
                                    method == nullptr ? "GET" : reader.text(*method, "method"));
  if (const auto* sentence = std::get_if<std::string>(&read)) {
    const bool of_method = method != nullptr && sentence->starts_with("method ");
    reader.fail(of_method ? method->place : url.place, *sentence);
  }
  SupposedRequest question = std::get<SupposedRequest>(std::move(read));
  if (const YamlNode* headers = reader.find(node, "headers"))
    read_fields(reader, *headers, question);
  if (const YamlNode* body = reader.find(node, "body"))
    question.body_bytes = read_size(reader, *body, "body");
  return question;
}

PolicyTest read_test(const Reader& reader, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::map) {
    reader.fail(node.place,
                "a test must be a map such as {url: \"https://api.example.com/\", expect: allow}, "
                "not " +
                    describe(node));
  }
  reader.expect_keys(node, test_keys());
  PolicyTest test{question_of(reader, node)};
  test.where = reader.where(node.place);
  test.expect = expectation_of(reader, reader.need(node, "expect", test_keys()));
  if (const YamlNode* rule = reader.find(node, "rule")) test.rule = reader.text(*rule, "rule");
  if (const YamlNode* reason = reader.find(node, "reason")) {
    if (test.expect != Action::deny)
      reader.fail(reason->place, "'reason' is of a refusal: remove it, or write expect: deny");
    test.reason = reason_of(reader, *reason);
  }
  return test;
}

std::string by_rule(const std::string& rule, const std::string& where) {
  return rule.empty() ? ""
                      : " by rule " + in_quotes(rule) + (where.empty() ? "" : " (" + where + ')');
}

}  // namespace

std::vector<PolicyTest> read_policy_tests(const Reader& reader, const YamlNode& node) {
  std::vector<PolicyTest> tests;
  for (const YamlNode& item : reader.list(node, "tests")) tests.push_back(read_test(reader, item));
  return tests;
}

std::string failure_of(const PolicyTest& test, const Policy& policy) {
  const SupposedRequest& question = test.question;
  Verdict verdict;
  verdict.reason = Reason::malformed_request;
  if (question.malformed.empty()) verdict = decide(policy, question.facts());
  const Action got = outcome_of(verdict);
  const bool as_expected = got == test.expect && (test.rule.empty() || test.rule == verdict.rule) &&
                           (test.reason == Reason::none || test.reason == verdict.reason);
  if (as_expected) return "";
  std::string out = "test of " + question.method + ' ' + in_quotes(question.url) + " expects " +
                    std::string(to_string(test.expect)) + by_rule(test.rule, "");
  if (test.reason != Reason::none) out += " (" + std::string(to_string(test.reason)) + ')';
  out += ", and it is " + std::string(to_string(got)) + by_rule(verdict.rule, verdict.where);
  if (got == Action::deny) out += " (" + std::string(to_string(verdict.reason)) + ')';
  return out;
}

}  // namespace warder
