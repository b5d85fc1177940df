// Rules with action tcp and tunnel: who may speak what on a host and port, and which rules contradict.
#include "policy/conflict.hpp"
#include "tests/policy/rules.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {

HostName host(const std::string& text) { return HostName::parse(text).value(); }

const RuleText kDb{"db", Action::tcp, {"db.test", "10.0.0.5"}, {5432}, {}, {}, true};
const RuleText kPinned{"pinned", Action::tunnel, {"*.push.test"}, {443}};
const RuleText kWeb{"web", Action::allow, {"web.test"}};

std::string reason_of(const std::optional<Verdict>& verdict) {
  if (!verdict) return "not raw";
  return verdict->allows() ? verdict->rule : std::string(to_string(verdict->reason));
}

}  // namespace

TEST_CASE("a tcp or tunnel rule is found by host and port alone") {
  const Policy raw = policy({kDb, kPinned, kWeb});
  CHECK(reason_of(raw.authorize_raw(host("db.test"), 5432)) == "db");
  CHECK(reason_of(raw.authorize_raw(host("10.0.0.5"), 5432)) == "db");
  CHECK(reason_of(raw.authorize_raw(host("a.push.test"), 443)) == "pinned");
  CHECK(reason_of(raw.authorize_raw(host("push.test"), 443)) == "not raw");
  CHECK(reason_of(raw.authorize_raw(host("db.test"), 5433)) == "not raw");
  CHECK(reason_of(raw.authorize_raw(host("web.test"), 443)) == "not raw");
  CHECK(reason_of(Policy().authorize_raw(host("db.test"), 5432)) == "not raw");

  const Verdict db = *raw.authorize_raw(host("db.test"), 5432);
  CHECK(db.handling == Handling::raw);
  CHECK(db.allow_private);
  CHECK(db.where == "warder.yaml:7");
  CHECK(raw.authorize_raw(host("a.push.test"), 443)->handling == Handling::tunnel);
  CHECK(Verdict().handling == Handling::inspect);
}

TEST_CASE("what a raw rule has is never HTTP, and what an allow rule has is never raw") {
  // Also where both stand in one policy, which no configuration can: it must fail closed.
  const Policy raw = policy({kDb, kPinned, kWeb, {"all", Action::allow, {"**.test"}, {5432, 443}}});
  for (const std::string origin : {"http://db.test:5432", "https://db.test:5432",
                                   "https://a.push.test", "http://a.push.test:443"}) {
    CAPTURE(origin);
    CHECK_FALSE(raw.authorize_connection(authority(origin)).allows());
    const Verdict request = raw.authorize({authority(origin), "GET", "/"});
    CHECK(request.reason == Reason::port_not_allowed);
    CHECK(request.suggestion.empty());
  }
  CHECK(raw.authorize_connection(authority("https://web.test")).rule == "web");
  CHECK(raw.authorize_connection(authority("https://web.test")).handling == Handling::inspect);
  CHECK(raw.authorize_connection({Scheme::tcp, host("web.test"), 443}).reason ==
        Reason::port_not_allowed);
  // Another port of the same host stays what it is.
  CHECK(raw.authorize_connection(authority("https://db.test")).rule == "all");
}

TEST_CASE("a deny of the host closes raw connections too") {
  const Policy raw = policy({kDb, kPinned, {"bad", Action::deny, {"x.push.test"}}});
  CHECK(reason_of(raw.authorize_raw(host("x.push.test"), 443)) == "host_not_allowed");
  CHECK(raw.authorize_raw(host("x.push.test"), 443)->rule == "bad");
  CHECK(reason_of(raw.authorize_raw(host("y.push.test"), 443)) == "pinned");
  CHECK_FALSE(raw.authorize_name(host("x.push.test")).allows());
}

TEST_CASE("a name that only a raw rule allows resolves") {
  const Policy raw = policy({kDb, kPinned});
  CHECK(raw.authorize_name(host("db.test")).rule == "db");
  CHECK(raw.authorize_name(host("a.push.test")).rule == "pinned");
  CHECK(raw.authorize_name(host("evil.test")).reason == Reason::name_not_allowed);
  CHECK_FALSE(
      policy({{"none", Action::tcp, {"db.test"}}}).authorize_name(host("db.test")).allows());
}

TEST_CASE("what a refusal of raw TCP suggests would allow it, or says nothing") {
  const Policy raw = policy({kDb, kWeb, {"api", Action::allow, {"api.test"}, {8080}}});
  const auto suggestion = [&](const char* name, std::uint16_t port) {
    const Verdict verdict = raw.authorize_connection({Scheme::tcp, host(name), port});
    CHECK_FALSE(verdict.allows());
    return verdict.suggestion;
  };
  CHECK(suggestion("web.test", 22) == "add {hosts: [web.test], ports: [22], action: tcp}");
  CHECK(suggestion("db.test", 22) == "add {hosts: [db.test], ports: [22], action: tcp}");
  CHECK(suggestion("2001:db8::1", 22) ==
        R"(add {hosts: ["2001:db8::1"], ports: [22], action: tcp})");
  CHECK(suggestion("web.test", 53).empty());
  // Beside an allow rule it would not load.
  CHECK(suggestion("web.test", 443).empty());
  CHECK(suggestion("api.test", 8080).empty());
  CHECK(raw.authorize_connection({Scheme::tcp, host("web.test"), 22}).reason ==
        Reason::port_not_allowed);
  CHECK(raw.authorize_connection({Scheme::tcp, host("evil.test"), 22}).reason ==
        Reason::host_not_allowed);
}

TEST_CASE("rules that overlap on a host and port contradict") {
  struct Pair {
    RuleText raw;
    RuleText http;
    bool contradict;
  };
  const Pair pairs[] = {
      {kDb, {"w", Action::allow, {"db.test"}}, false},
      {kDb, {"w", Action::allow, {"db.test"}, {5432}}, true},
      {kDb, {"w", Action::allow, {"**.db.test"}, {80, 5432}}, true},
      {kDb, {"w", Action::allow, {"*.db.test"}, {5432}}, false},
      {kDb, {"w", Action::allow, {"*.test"}, {5432}}, true},
      {kPinned, {"w", Action::allow, {"a.push.test"}}, true},
      {kPinned, {"w", Action::allow, {"push.test"}}, false},
      {kPinned, {"w", Action::allow, {"a.push.test"}, {80}}, false},
      {kPinned, {"w", Action::allow, {"*.eu.push.test"}, {443}, {"GET"}, {"/x"}}, true},
      {{"t80", Action::tcp, {"w.test"}, {80}}, {"w", Action::allow, {"w.test"}}, true},
      // A deny is no contradiction as long as it can be kept.
      {kPinned, {"d", Action::deny, {"**.push.test"}}, false},
      {kPinned, {"d", Action::deny, {"**.push.test"}, {}, {}, {"/**"}}, false},
      {kPinned, {"d", Action::deny, {"**.push.test"}, {}, {"PUT"}}, true},
      {kPinned, {"d", Action::deny, {"**.push.test"}, {80}, {"PUT"}}, false},
      {kPinned, {"d", Action::deny, {"a.push.test"}, {443}, {}, {"/x"}}, true},
      {kDb, {"tunnel", Action::tunnel, {"db.test"}, {5432}}, false},
  };
  for (const Pair& pair : pairs) {
    CAPTURE(pair.raw.name, pair.http.name, pair.http.hosts[0]);
    const std::string first = contradiction(rule(pair.raw), {rule(kWeb), rule(pair.http)});
    CHECK(first.empty() != pair.contradict);
    CHECK(contradiction(rule(pair.http), {rule(kWeb), rule(pair.raw)}) == first);
    const auto found = first_contradiction({rule(kWeb), rule(pair.http), rule(pair.raw)});
    CHECK(found.has_value() == pair.contradict);
    CHECK((found ? found->sentence : "") == first);
    if (found) CHECK(found->rule == 2);
    if (!pair.contradict) continue;
    CHECK(first.find("'" + pair.raw.name + "'") != std::string::npos);
    CHECK(first.find("'" + pair.http.name + "'") != std::string::npos);
  }
}

TEST_CASE("a grant that only raw rules reach is found") {
  const std::vector<Rule> rules{rule(kDb), rule(kPinned), rule(kWeb),
                                rule({"db-web", Action::allow, {"10.0.0.5"}}),
                                rule({"no", Action::deny, {"db.test"}})};
  CHECK(only_raw_rule_for(host_pattern("db.test"), rules) == "db");
  CHECK(only_raw_rule_for(host_pattern("**.push.test"), rules) == "pinned");
  CHECK(only_raw_rule_for(host_pattern("10.0.0.5"), rules).empty());
  CHECK(only_raw_rule_for(host_pattern("web.test"), rules).empty());
  CHECK(only_raw_rule_for(host_pattern("nowhere.test"), rules).empty());
}
