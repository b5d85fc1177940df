// Rules with query, headers, max_body and ranges: read, shown, written again; and thousands of rules.
#include <ctime>
#include <iostream>

#include "config/load.hpp"
#include "config/summary.hpp"
#include "policy/policy.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sanitized.hpp"

using namespace warder;

namespace {

Config with_rules(const std::string& rules) {
  return parse_config("version: 1\npolicies:\n  t:\n    rules:\n" + rules, "/w.yaml");
}

const std::string kRules =
    "      - {hosts: [api.test, 10.0.0.0/8, \"2001:db8::/32\"], query: [page, \"filter[name]\"],\n"
    "         headers: {X-Env: [prod, \"stag*\"], x-any: [\"*\"]}, max_body: 64KiB, action: "
    "allow}\n"
    "      - {hosts: [\"**.test\"], query: [\"token\"], headers: {x-debug: [\"*\"]}, action: "
    "deny}\n";

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

template <class Line>
std::string many(int count, Line line) {
  std::string out;
  for (int i = 0; i < count; ++i) out += "      - " + line(std::to_string(i)) + '\n';
  return out;
}

}  // namespace

TEST_CASE("a rule's matchers are read as they are meant") {
  const Config config = with_rules(kRules);
  const Rule& rule = config.policies.at(0).rules.at(0);
  CHECK(rule.hosts.at(1).is_range());
  CHECK(rule.query.at(1).str() == "filter[name]");
  REQUIRE(rule.headers.size() == 2);
  CHECK(rule.headers[0].name() == "x-env");
  CHECK(rule.headers[0].values().at(1).str() == "stag*");
  CHECK(rule.max_body == 65536);
  const auto size = [](const std::string& text) {
    return with_rules("      - {hosts: [a.test], action: allow, max_body: " + text + "}\n")
        .policies[0]
        .rules[0]
        .max_body;
  };
  CHECK(size("0") == 0);
  CHECK(size("100") == 100);
  CHECK(size("10MiB") == 10u << 20);
  CHECK(size("1024GiB") == std::uint64_t{1} << 40);
}

TEST_CASE("what is written out loads again as the same rules") {
  const Config config = with_rules(kRules);
  const std::string yaml = to_yaml(config, "t");
  const Config again = parse_config(yaml, "/w.yaml");
  CHECK(to_yaml(again, "t") == yaml);
  for (std::size_t i = 0; i < 2; ++i) {
    const Rule& before = config.policies[0].rules[i];
    const Rule& after = again.policies[0].rules[i];
    CHECK(after.hosts == before.hosts);
    CHECK(after.query == before.query);
    CHECK(after.headers == before.headers);
    CHECK(after.max_body == before.max_body);
    CHECK(after.action == before.action);
  }
}

TEST_CASE("the summary says every matcher") {
  const std::string shown = summary(with_rules(kRules));
  for (const char* part :
       {"10.0.0.0/8", R"(no query key but "page", "filter[name]")", R"(x-env: "prod", "stag*")",
        "bodies up to 65536 bytes", R"(with any query key of "token")", R"(x-debug: "*")"}) {
    CAPTURE(part, shown);
    CHECK(shown.find(part) != std::string::npos);
  }
}

TEST_CASE("a suggestion loads as it stands") {
  const Config config = with_rules(kRules);
  const Policy policy("t", config.policies[0].rules);
  const Authority api{Scheme::https, HostName::parse("api.test").value(), 443};
  HeaderList fields;
  fields.add("X-Env", "prod");
  fields.add("X-Any", "");
  for (const RequestFacts& request : {RequestFacts{api, "GET", "/a", "page=1&p\"x=1", &fields},
                                      RequestFacts{api, "GET", "/a", "page=1&odd%20one=1", &fields},
                                      RequestFacts{api, "GET", "/a", "page=1&a;b", &fields},
                                      RequestFacts{api, "POST", "/a", "page=1", &fields, 70'000}}) {
    const Verdict refused = policy.authorize(request);
    CAPTURE(refused.suggestion);
    REQUIRE(refused.suggestion.starts_with("add "));
    const Config more = with_rules(kRules + "      - " + refused.suggestion.substr(4) + '\n');
    CHECK(Policy("t", more.policies[0].rules).authorize(request).allows());
  }
}

TEST_CASE("ten thousand rules are loaded at once, twenty thousand are the most") {
  const auto distinct = [](const std::string& n) {
    return "{name: rule" + n + ", hosts: [h" + n + ".test], methods: [GET], paths: [/a/" + n +
           "/**], action: allow}";
  };
  // Raw ones and others by turns, under one wildcard: whatever is compared with each other.
  const auto mixed = [](const std::string& n) {
    const bool raw = (n.back() - '0') % 2 == 0;
    return "{hosts: [h" + n + ".test], ports: [" +
           (raw ? "5432], action: tcp}" : "8443], action: allow}");
  };
  for (const std::string& rules :
       {many(10'000, distinct), many(9999, mixed) + "      - {hosts: [\"**.test\"], ports: [8443], "
                                                    "paths: [/x], action: deny}\n"}) {
    const double begin = cpu_seconds();
    const Config config = with_rules(rules);
    const double loaded = cpu_seconds();
    const Policy policy("t", config.policies[0].rules);
    const double compiled = cpu_seconds();
    std::cout << "10,000 rules: " << loaded - begin << " s to load, " << compiled - loaded
              << " s to compile\n";
    CHECK(config.policies[0].rules.size() == 10'000);
    CHECK(compiled - begin < (warder::test::kSanitized ? 20.0 : 2.0));
  }
  const auto small = [](const std::string& n) {
    return "{hosts: [h" + n + ".test], action: deny}";
  };
  CHECK(with_rules(many(20'000, small)).policies[0].rules.size() == 20'000);
  CHECK_THROWS_WITH(with_rules(many(20'001, small)),
                    "/w.yaml:20005:9: 'rules' has more than 20000 entries");
}
