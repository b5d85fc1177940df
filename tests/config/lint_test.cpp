// Each finding provoked, and what is beside it not.
#include "config/lint.hpp"

#include <filesystem>
#include <fstream>

#include "config/load.hpp"
#include "config/starter.hpp"
#include "policy/shadow.hpp"
#include "tests/config/contract.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {

using Kind = Finding::Kind;

std::vector<Finding> findings(const std::string& yaml, std::string_view policy = "") {
  return lint(parse_config(yaml, "/project/warder.yaml"), policy);
}

// "warder.yaml:4 shadowed_rule", one after another.
std::string kinds(const std::string& yaml, std::string_view policy = "") {
  std::string out;
  for (const Finding& finding : findings(yaml, policy))
    out += (out.empty() ? "" : ", ") + finding.where + ' ' + std::string(to_string(finding.kind));
  return out;
}

// Rules and grants, a line each.
std::string policy(const std::vector<std::string>& rules,
                   const std::vector<std::string>& grants = {}) {
  std::string out = "version: 1\n";
  if (!grants.empty()) out += "secrets: {s: {source: {env: S}}}\n";
  out += "policies:\n  t:\n    rules:\n";
  for (const std::string& rule : rules) out += "      - {" + rule + "}\n";
  if (!grants.empty()) out += "    grants:\n";
  for (const std::string& grant : grants) out += "      - {" + grant + "}\n";
  return out;
}

std::string with_tests(const std::vector<std::string>& tests) {
  std::string out = policy({"name: api, hosts: [api.test], paths: [\"/v1/**\"], action: allow",
                            "name: no, hosts: [api.test], paths: [\"/v1/x/**\"], action: deny",
                            "name: db, hosts: [db.test], ports: [5432], action: tcp"});
  out += "    tests:\n";
  for (const std::string& test : tests) out += "      - {" + test + "}\n";
  return out;
}

}  // namespace

TEST_CASE("a shadowed rule is found with its line and what shadows it") {
  const auto found =
      findings(policy({"name: all, hosts: [api.test], action: allow",
                       "name: get, hosts: [api.test], methods: [GET], action: allow"}));
  REQUIRE(found.size() == 1);
  CHECK(found[0] ==
        Finding{Kind::shadowed_rule, "warder.yaml:6",
                "rule 'get' never decides: rule 'all' (warder.yaml:5) stands before it and matches "
                "whatever it could match: remove it, or move it up"});
  const auto denied = findings(policy({"name: all, hosts: [api.test], action: allow",
                                       "name: none, hosts: [\"**.test\"], action: deny"}));
  REQUIRE(denied.size() == 1);
  CHECK(denied[0].sentence ==
        "rule 'all' never decides: rule 'none' (warder.yaml:6) denies whatever it could match: "
        "remove it, or narrow the deny");
  CHECK(kinds(policy({"hosts: [api.test], methods: [GET], action: allow",
                      "hosts: [api.test], action: allow"})) == "");
}

TEST_CASE("an own rule that covers one of a preset is no mistake") {
  const std::string covered = policy({"hosts: [registry.npmjs.org], action: allow"});
  const std::string include = "    include: [preset/npm]\n";
  const auto config = parse_config(covered + include, "/project/warder.yaml");
  CHECK_FALSE(shadowed(config.policies.at(0).rules).empty());
  CHECK(kinds(covered + include) == "");
  // Own rules are looked at as ever, those of an included policy of one's own, too.
  CHECK(kinds(policy({"hosts: [a.test], action: allow", "hosts: [a.test], action: allow"}) +
              include) == "warder.yaml:6 shadowed_rule");
  CHECK(
      kinds(policy({"hosts: [a.test], action: allow"}) +
            "    include: [mine]\n  mine:\n    rules:\n      - {hosts: [a.test], action: allow}\n")
          .find("shadowed_rule") != std::string::npos);
}

TEST_CASE("a grant that no rule makes reachable is found, by host and by port") {
  CHECK(kinds(policy({"hosts: [api.test], action: allow"}, {"secret: s, hosts: [api.test]"})) ==
        "");
  CHECK(kinds(policy({"hosts: [\"*.test\"], ports: [8443], action: allow"},
                     {"secret: s, hosts: [api.test]"})) == "");
  CHECK(kinds(policy({"hosts: [api.test], action: allow"}, {"secret: s, hosts: [\"**.test\"]"})) ==
        "");
  CHECK(kinds(policy({"hosts: [api.test], action: allow"},
                     {"secret: s, hosts: [api.test, www.test]"})) ==
        "warder.yaml:8 unreachable_grant");
  CHECK(kinds(policy({"hosts: [api.test], action: deny"}, {"secret: s, hosts: [api.test]"})) ==
        "warder.yaml:8 unreachable_grant");
  // Clear text alone, where a grant does not go by itself.
  CHECK(kinds(policy({"hosts: [api.test], ports: [80], action: allow"},
                     {"secret: s, hosts: [api.test]"})) == "warder.yaml:8 unreachable_grant");
  CHECK(kinds(policy({"hosts: [api.test], ports: [80], action: allow"},
                     {"secret: s, hosts: [api.test], plain_http: true"})) == "");
  CHECK(kinds(policy(
            {"hosts: [api.test], action: allow"},
            {"secret: s, hosts: [api.test]",
             "capture: {name: c, hosts: [login.test], paths: [/token]}, hosts: [api.test]"})) ==
        "warder.yaml:9 unreachable_grant");
}

TEST_CASE("a wildcard over names that anybody can register is found where it lets something in") {
  CHECK(kinds(policy({"hosts: [\"*.co.uk\"], action: allow"})) == "warder.yaml:5 public_suffix");
  CHECK(kinds(policy({"hosts: [\"**.github.io\"], action: allow"})) ==
        "warder.yaml:5 public_suffix");
  CHECK(kinds(policy(
            {"hosts: [\"*.example.co.uk\", \"**.internal\", \"*.test\"], action: allow"})) == "");
  CHECK(kinds(policy({"hosts: [\"*.co.uk\"], action: deny"})) == "");
  CHECK(kinds(policy({"hosts: [\"*.co.uk\"], ports: [22], action: tcp"})) ==
        "warder.yaml:5 public_suffix");
  CHECK(kinds(policy({"hosts: [api.example.co.uk], action: allow"},
                     {"secret: s, hosts: [\"*.co.uk\"]"})) == "warder.yaml:8 public_suffix");
}

TEST_CASE("a grant at shared hosting is found, a rule for it is not") {
  for (const std::string host : {"raw.githubusercontent.com", "d1.cloudfront.net", "unpkg.com",
                                 "bucket.s3.eu-west-1.amazonaws.com"}) {
    CAPTURE(host);
    const std::string rule = "hosts: [" + host + "], action: allow";
    CHECK(kinds(policy({rule})) == "");
    CHECK(kinds(policy({rule}, {"secret: s, hosts: [" + host + "]"})) ==
          "warder.yaml:8 shared_host");
  }
}

TEST_CASE("a secret that nothing uses is found, whichever policy is looked at") {
  const std::string yaml =
      "version: 1\nsecrets:\n  a: {source: {env: A}}\n  b: {source: {env: B}}\npolicies:\n"
      "  t: {rules: [{hosts: [a.test], action: allow}], grants: [{secret: a, hosts: [a.test]}]}\n"
      "  u: {rules: [{hosts: [\"*.com\"], action: allow}]}\n";
  CHECK(kinds(yaml) == "warder.yaml:4 unused_secret, warder.yaml:7 public_suffix");
  CHECK(kinds(yaml, "t") == "warder.yaml:4 unused_secret");
}

TEST_CASE("tests of a policy that hold say nothing") {
  CHECK(kinds(with_tests({
            "url: \"https://api.test/v1/a\", expect: allow, rule: api",
            "url: \"https://api.test/v1/a\", method: DELETE, headers: {X-A: b}, body: 1KiB, "
            "expect: allow",
            "url: \"https://api.test/v1/x/y\", expect: deny, rule: no, reason: path_not_allowed",
            "url: \"https://api.test/v2\", expect: deny, reason: path_not_allowed",
            "url: \"https://api.test/v1/../v1\", expect: deny, reason: malformed_request",
            "url: \"tcp://db.test:5432\", expect: tcp, rule: db",
            "url: \"https://db.test:5432/\", expect: tcp",
        })) == "");
}

TEST_CASE("a test that fails says what was expected, what came and by which rule") {
  const auto sentence = [](const std::string& test) {
    const auto found = findings(with_tests({test}));
    if (found.size() != 1) return std::string("no failure");
    CHECK(found[0].kind == Kind::failed_test);
    CHECK(found[0].is_error());
    CHECK(found[0].where == "warder.yaml:9");
    return found[0].sentence;
  };
  CHECK(
      sentence("url: \"https://api.test/v1/x\", expect: allow, rule: api") ==
      "test of GET \"https://api.test/v1/x\" expects allow by rule \"api\", and it is deny by rule "
      "\"no\" (warder.yaml:6) (path_not_allowed)");
  CHECK(sentence("url: \"https://api.test/v1/a\", expect: deny") ==
        "test of GET \"https://api.test/v1/a\" expects deny, and it is allow by rule \"api\" "
        "(warder.yaml:5)");
  CHECK(sentence("url: \"https://api.test/v2\", expect: deny, reason: host_not_allowed") ==
        "test of GET \"https://api.test/v2\" expects deny (host_not_allowed), and it is deny "
        "(path_not_allowed)");
  CHECK(sentence("url: \"https://api.test/v1/a\", expect: allow, rule: other")
            .starts_with("test of GET"));
  CHECK(sentence("url: \"https://api.test/v1/a\", expect: ask").starts_with("test of GET"));
  CHECK(sentence("url: \"tcp://db.test:5432\", expect: tunnel").starts_with("test of GET"));
}

TEST_CASE("tests are read strictly") {
  const auto error = [](const std::string& test) {
    try {
      (void)findings(with_tests({test}));
      return std::string("it loads");
    } catch (const ConfigError& refused) {
      return std::string(refused.what());
    }
  };
  const std::string at = "/project/warder.yaml:9:";
  CHECK(error("url: \"https://a.test/\", expect: alow") ==
        at + "42: 'expect' is \"alow\": did you mean 'allow'?");
  CHECK(error("url: \"https://a.test/\"") == at + "9: a test has no 'expect': add it");
  CHECK(error("expect: deny") == at + "9: a test has no 'url': add it");
  CHECK(error("urll: x, expect: deny").find("unknown key 'urll' in a test") != std::string::npos);
  CHECK(error("url: a.test, expect: deny").find("has no scheme") != std::string::npos);
  CHECK(error("url: \"https://a.test/\", method: get, expect: deny").find("upper case") !=
        std::string::npos);
  CHECK(error("url: \"https://a.test/\", headers: {Host: b}, expect: deny").find("leave it out") !=
        std::string::npos);
  CHECK(error("url: \"https://a.test/\", body: much, expect: deny").find("64KiB") !=
        std::string::npos);
  CHECK(error("url: \"https://a.test/\", expect: deny, reason: path_not_alowed")
            .find("path_not_allowed") != std::string::npos);
  CHECK(error("url: \"https://a.test/\", expect: allow, reason: path_not_allowed")
            .find("of a refusal") != std::string::npos);
}

TEST_CASE("tests change nothing of the policy in force") {
  const std::string yaml = with_tests({"url: \"https://api.test/v1/a\", expect: allow"});
  const Config config = parse_config(yaml, "/project/warder.yaml");
  CHECK(config.policies[0].tests.size() == 1);
  CHECK(to_yaml(config, "t").find("tests") == std::string::npos);
}

TEST_CASE("the example and what init writes give no warning") {
  const auto example = std::filesystem::path(WARDER_SOURCE_DIR) / "config/example.yaml";
  const Config config = load_config(example);
  CHECK(config.policies.at(0).tests.size() > 2);
  for (const Finding& finding : lint(config, "")) FAIL(finding.where << ": " << finding.sentence);

  const TemporaryDirectory project;
  CHECK(kinds(starter_yaml(project.path())) == "");
  for (const char* file :
       {"package.json", "pyproject.toml", "Cargo.toml", "go.mod", "pom.xml", "Gemfile"})
    std::ofstream(project.path() / file) << "x";
  std::filesystem::create_directory(project.path() / ".git");
  std::ofstream(project.path() / ".git/config")
      << "[remote \"origin\"]\n\turl = https://github.com/acme/x.git\n";
  const std::string all = starter_yaml(project.path());
  REQUIRE(all.find("acme/x") != std::string::npos);
  CHECK(kinds(all) == "");
}
