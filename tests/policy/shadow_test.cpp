// What is called shadowed never decides, whatever is asked; and what is obviously shadowed is found.
#include "policy/shadow.hpp"

#include <random>
#include <set>

#include "policy/pattern_cover.hpp"
#include "policy/policy.hpp"
#include "tests/policy/random_policy.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {

// "2 by 0", or empty.
std::string shadows(const std::vector<RuleText>& texts) {
  std::vector<Rule> rules;
  for (const RuleText& text : texts) rules.push_back(rule(text));
  std::string out;
  for (const Shadow& one : shadowed(rules)) {
    out += (out.empty() ? "" : ", ") + std::to_string(one.rule) + " by " + std::to_string(one.by);
  }
  return out;
}

bool host_covers(const std::string& wide, const std::string& narrow) {
  return covers(host_pattern(wide), host_pattern(narrow));
}
bool path_covers(const std::string& wide, const std::string& narrow) {
  return covers(path_pattern(wide), path_pattern(narrow));
}

constexpr Action kAllow = Action::allow;
constexpr Action kDeny = Action::deny;

}  // namespace

TEST_CASE("which host patterns another covers") {
  for (const auto& [wide, narrow] :
       std::vector<std::pair<std::string, std::string>>{{"a.test", "a.test"},
                                                        {"*.test", "a.test"},
                                                        {"*.test", "*.test"},
                                                        {"*.test", "**.a.test"},
                                                        {"**.a.test", "a.test"},
                                                        {"**.a.test", "*.a.test"},
                                                        {"**.a.test", "x.y.a.test"},
                                                        {"10.0.0.0/8", "10.1.0.0/16"},
                                                        {"10.0.0.0/8", "10.1.2.3"},
                                                        {"10.0.0.0/8", "10.0.0.0/8"}}) {
    CAPTURE(wide, narrow);
    CHECK(host_covers(wide, narrow));
  }
  for (const auto& [wide, narrow] :
       std::vector<std::pair<std::string, std::string>>{{"a.test", "b.test"},
                                                        {"*.a.test", "a.test"},
                                                        {"*.a.test", "**.a.test"},
                                                        {"a.test", "*.a.test"},
                                                        {"**.a.test", "ba.test"},
                                                        {"*.a.test", "*.test"},
                                                        {"10.1.0.0/16", "10.0.0.0/8"},
                                                        {"10.0.0.0/8", "2001:db8::/32"},
                                                        {"10.0.0.0/8", "10.test"}}) {
    CAPTURE(wide, narrow);
    CHECK_FALSE(host_covers(wide, narrow));
  }
}

TEST_CASE("which path patterns another covers") {
  for (const auto& [wide, narrow] :
       std::vector<std::pair<std::string, std::string>>{{"/**", "/"},
                                                        {"/a/**", "/a"},
                                                        {"/a/**", "/a/"},
                                                        {"/a/**", "/a/**"},
                                                        {"/a/**", "/a/*/b"},
                                                        {"/a/**", "/a/b/**"},
                                                        {"/a/*", "/a/b"},
                                                        {"/a/*", "/a/b*"},
                                                        {"/*/b", "/a/b"},
                                                        {"/a*", "/ab*c"},
                                                        {"/**/c", "/a/b/c"},
                                                        {"/**/c", "/a/**/c"},
                                                        {"/a%2fb", "/a%2Fb"},
                                                        {"/a/**", "/a/b%2Fc"}}) {
    CAPTURE(wide, narrow);
    CHECK(path_covers(wide, narrow));
  }
  for (const auto& [wide, narrow] :
       std::vector<std::pair<std::string, std::string>>{{"/a", "/**"},
                                                        {"/a/*", "/a/**"},
                                                        {"/a/*", "/a/b/c"},
                                                        {"/a/*/*", "/a/**"},
                                                        {"/a/*", "/a"},
                                                        {"/a/", "/a/**"},
                                                        {"/a*", "/a/b"},
                                                        {"/a*", "/a**"},
                                                        {"/a/*", "/a/b%2Fc"},
                                                        {"/a/b*", "/a/*"},
                                                        {"/**/c", "/**"},
                                                        {"/**/*", "/**"},
                                                        {"/a/**", "/ab"},
                                                        {"/a", "/A"}}) {
    CAPTURE(wide, narrow);
    CHECK_FALSE(path_covers(wide, narrow));
  }
}

TEST_CASE("a rule behind one that takes all of it is shadowed, and a near miss is not") {
  const RuleText all{"all", kAllow, {"api.test"}};
  CHECK(shadows({all, {"get", kAllow, {"api.test"}, {}, {"GET"}}}) == "1 by 0");
  CHECK(shadows({{"get", kAllow, {"api.test"}, {}, {"GET"}}, all}) == "");
  CHECK(shadows({all, {"ask", Action::ask, {"api.test"}, {443}, {}, {"/x/**"}}}) == "1 by 0");
  CHECK(shadows({all, {"other", kAllow, {"api.test", "b.test"}}}) == "");
  CHECK(shadows({{"two", kAllow, {"b.test", "**.test"}},
                 {"one", kAllow, {"a.test", "c.d.test"}}}) == "1 by 0");
  CHECK(shadows({all, {"port", kAllow, {"api.test"}, {8443}}}) == "");
  CHECK(shadows({{"tls", kAllow, {"api.test"}, {443}}, all}) == "");
  CHECK(shadows({{"both", kAllow, {"api.test"}, {443, 80}}, all}) == "1 by 0");
  CHECK(shadows({{"get", kAllow, {"api.test"}, {}, {"GET"}}, {"any", kAllow, {"api.test"}}}) == "");
  CHECK(shadows({{"p", kAllow, {"api.test"}, {}, {}, {"/a/**"}},
                 {"q", kAllow, {"api.test"}, {}, {}, {"/a/b", "/a/c/*"}}}) == "1 by 0");
  CHECK(shadows({{"p", kAllow, {"api.test"}, {}, {}, {"/a/**"}},
                 {"q", kAllow, {"api.test"}, {}, {}, {"/a/b", "/b"}}}) == "");
  CHECK(shadows({all, all, all}) == "1 by 0, 2 by 0");
}

TEST_CASE("a deny shadows wherever it stands, and only what it denies whole") {
  const RuleText all{"all", kAllow, {"api.test"}};
  const RuleText deny{"no", kDeny, {"**.test"}};
  CHECK(shadows({all, deny}) == "0 by 1");
  CHECK(shadows({deny, all}) == "1 by 0");
  CHECK(shadows({all, {"no", kDeny, {"api.test"}, {}, {"GET"}}}) == "");
  CHECK(shadows({{"get", kAllow, {"api.test"}, {}, {"GET"}},
                 {"no", kDeny, {"api.test"}, {}, {"GET", "POST"}}}) == "0 by 1");
  CHECK(shadows({all, {"no", kDeny, {"api.test"}, {443}}}) == "");
  // No allow stands in the way of a deny.
  CHECK(shadows({all, {"no", kDeny, {"api.test"}, {}, {}, {"/x/**"}}}) == "");
  CHECK(shadows({deny, {"narrow", kDeny, {"a.test"}}}) == "1 by 0");
  CHECK(shadows({{"narrow", kDeny, {"a.test"}}, deny}) == "0 by 1");
  CHECK(shadows({deny, deny}) == "1 by 0");
  CHECK(shadows({{"a", kDeny, {"a.test"}, {}, {}, {"/a*40"}},
                 {"b", kDeny, {"a.test"}, {}, {}, {"/a%40"}}}) == "");
  CHECK(shadows({{"db", Action::tcp, {"db.test"}, {5432}}, deny}) == "0 by 1");
  CHECK(shadows({{"db", Action::tcp, {"db.test"}, {5432}},
                 {"no", kDeny, {"db.test"}, {}, {"GET"}}}) == "");
}

TEST_CASE("raw rules shadow raw rules") {
  CHECK(shadows({{"a", Action::tcp, {"**.test"}, {1, 2}},
                 {"b", Action::tunnel, {"x.test"}, {2}}}) == "1 by 0");
  CHECK(shadows({{"a", Action::tcp, {"**.test"}, {1}}, {"b", Action::tcp, {"x.test"}, {1, 2}}}) ==
        "");
}

TEST_CASE("query, fields and length count too") {
  const RuleText all{"all", kAllow, {"api.test"}};
  RuleText keys = all;
  keys.query = {"a", "b"};
  RuleText key = all;
  key.query = {"a"};
  CHECK(shadows({keys, key}) == "1 by 0");
  CHECK(shadows({key, keys}) == "");
  CHECK(shadows({keys, all}) == "");
  RuleText no_keys = keys;
  no_keys.action = kDeny;
  CHECK(shadows({key, no_keys}) == "");

  RuleText prod = all;
  prod.headers = {{"x-env", {"prod", "dev"}}};
  RuleText both = all;
  both.headers = {{"x-env", {"prod"}}, {"x-b", {"1"}}};
  CHECK(shadows({prod, both}) == "1 by 0");
  CHECK(shadows({both, prod}) == "");
  CHECK(shadows({prod, all}) == "");
  prod.action = both.action = kDeny;
  CHECK(shadows({both, prod}) == "");
  RuleText wide = both;
  wide.headers = {{"x-env", {"*"}}, {"x-b", {"1"}}};
  CHECK(shadows({wide, both}) == "1 by 0");
  CHECK(shadows({all, prod}) == "");

  RuleText small = all;
  small.max_body = 10;
  RuleText smaller = all;
  smaller.max_body = 5;
  CHECK(shadows({small, smaller}) == "1 by 0");
  CHECK(shadows({smaller, small}) == "");
  CHECK(shadows({small, all}) == "");
}

TEST_CASE("no random request is ever decided by a rule that is called shadowed") {
  std::mt19937 random(20'260'303);
  RandomPolicy source([&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); });
  int found = 0;
  int decided = 0;
  for (int round = 0; round < 1'500; ++round) {
    const std::vector<Rule> rules = source.rules(12);
    std::set<std::string> never;
    std::vector<Rule> without;
    const std::vector<Shadow> shadows_there = shadowed(rules);
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const bool is_shadowed = std::any_of(shadows_there.begin(), shadows_there.end(),
                                           [&](const Shadow& one) { return one.rule == i; });
      if (is_shadowed)
        never.insert(rules[i].name);
      else
        without.push_back(rules[i]);
    }
    found += static_cast<int>(never.size());
    const Policy whole("p", rules);
    const Policy rest("p", without);
    for (int i = 0; i < 60; ++i) {
      const RandomPolicy::Request request = source.request();
      const Verdict verdict = whole.authorize(request.facts());
      CAPTURE(round, i, verdict.rule, request.path, request.authority.host_port());
      decided += verdict.rule.empty() ? 0 : 1;
      // A deny behind which another one stands may be the one that is named; nothing changes without it.
      REQUIRE(verdict.decision == rest.authorize(request.facts()).decision);
      const auto raw = whole.authorize_raw(request.authority.host, request.authority.port);
      const auto raw_rest = rest.authorize_raw(request.authority.host, request.authority.port);
      REQUIRE((raw && raw->allows()) == (raw_rest && raw_rest->allows()));
      if (verdict.decision != Decision::deny) REQUIRE_FALSE(never.contains(verdict.rule));
    }
  }
  CAPTURE(found, decided);
  CHECK(found > 300);
  CHECK(decided > 5'000);
}
