// include: what it brings, in which order, and what it never brings.
#include "config/include.hpp"

#include "config/load.hpp"
#include "config/summary.hpp"
#include "policy/policy.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

Config load(const std::string& policies) {
  return parse_config("version: 1\npolicies:\n" + policies, "/project/w.yaml");
}

std::string error_of(const std::string& policies) {
  try {
    (void)load(policies);
    return "it loads";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

bool holds(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

Verdict ask(const PolicyConfig& policy, const char* host, const char* method, const char* path) {
  return Policy(policy.name, policy.rules)
      .authorize({{Scheme::https, HostName::parse(host).value(), 443}, method, path});
}

}  // namespace

TEST_CASE("an include brings rules with their own names and places, behind the policy's own") {
  const Config config = load(
      "  t:\n"
      "    include: [preset/pypi, preset/npm]\n"
      "    rules: [{name: own, hosts: [pypi.org], action: allow}]\n");
  const PolicyConfig& t = config.policies[0];
  REQUIRE(t.rules.size() == 5);
  CHECK(t.rules[0].name == "own");
  CHECK(t.rules[1].name == "pypi.index");
  CHECK(t.rules[1].where == "preset/pypi:5");
  CHECK(t.rules[3].name == "npm.read");
  CHECK(t.grants.empty());
  const Verdict first = ask(t, "pypi.org", "GET", "/simple/six/");
  CHECK(first.rule == "own");
  const Verdict included = ask(t, "registry.npmjs.org", "GET", "/@types%2fnode");
  CHECK(included.allows());
  CHECK(included.rule == "npm.read");
  CHECK(included.where.starts_with("preset/npm:"));
  CHECK(summary(config).find("[npm.read, preset/npm:") != std::string::npos);
}

TEST_CASE("an own deny wins over what is included, wherever it stands") {
  const PolicyConfig t = load(
                             "  t:\n"
                             "    include: [preset/github-readonly]\n"
                             "    rules: [{name: no, hosts: [api.github.com], paths: "
                             "[\"/repos/acme/secret/**\"], action: deny}]\n")
                             .policies[0];
  CHECK(ask(t, "api.github.com", "GET", "/repos/acme/x/issues").allows());
  CHECK(ask(t, "api.github.com", "GET", "/repos/acme/secret/issues").rule == "no");
}

TEST_CASE("parameters are filled in, one value or several") {
  const PolicyConfig t =
      load("  t: {include: [{preset/github-repository: {repository: [acme/x, acme/y]}}]}\n")
          .policies[0];
  CHECK(ask(t, "api.github.com", "GET", "/repos/acme/y/pulls").rule == "github-repository.read");
  CHECK_FALSE(ask(t, "api.github.com", "GET", "/repos/acme/z/pulls").allows());
  for (const Rule& rule : t.rules) {
    for (const PathPattern& path : rule.paths) CHECK(path.str().find('$') == std::string::npos);
  }
}

TEST_CASE("methods narrow an include and never widen it") {
  const PolicyConfig t =
      load("  t: {include: [{preset/npm: {methods: [GET, HEAD]}}]}\n").policies[0];
  CHECK(ask(t, "registry.npmjs.org", "GET", "/express").allows());
  CHECK_FALSE(ask(t, "registry.npmjs.org", "POST", "/-/npm/v1/security/advisories/bulk").allows());
  CHECK(error_of("  t: {include: [{preset/npm: {methods: [PUT]}}]}\n") ==
        "/project/w.yaml:3:41: no rule of what is included allows \"PUT\", and 'methods' only "
        "narrows: "
        "remove it, or add a rule of your own");

  for (const char* method : {"TRACE", "CONNECT", "get", "*", ""}) {
    CAPTURE(method);
    CHECK(holds(error_of("  base: {rules: [{hosts: [a.test], action: allow}]}\n"
                         "  t: {include: [{base: {methods: [\"" +
                         std::string(method) + "\"]}}]}\n"),
                "no rule of what is included allows"));
  }

  const PolicyConfig raw =
      load(
          "  base: {rules: [{hosts: [a.test], action: allow}, {hosts: [a.test], paths: "
          "[/x], action: deny}, {hosts: [db.test], ports: [5432], action: tcp}]}\n"
          "  t: {include: [{base: {methods: [GET]}}]}\n")
          .policies[1];
  REQUIRE(raw.rules.size() == 2);
  CHECK(ask(raw, "a.test", "GET", "/").allows());
  CHECK_FALSE(ask(raw, "a.test", "POST", "/").allows());
  CHECK_FALSE(ask(raw, "a.test", "GET", "/x").allows());
}

TEST_CASE("another policy of the file is included with what it includes, not with its grants") {
  const Config config = parse_config(
      "version: 1\n"
      "secrets: {tok: {source: {env: TOK}}}\n"
      "policies:\n"
      "  t: {include: [base]}\n"
      "  base:\n"
      "    include: [preset/pypi]\n"
      "    tripwire: quarantine\n"
      "    rules: [{name: a, hosts: [a.test], action: allow}]\n"
      "    grants: [{secret: tok, hosts: [a.test]}]\n",
      "w.yaml");
  const PolicyConfig& t = *config.policy("t");
  CHECK(t.rules.at(0).name == "base.a");
  CHECK(t.rules.at(0).where == "w.yaml:8");
  CHECK(t.rules.at(1).name == "base.pypi.index");
  CHECK(t.grants.empty());
  CHECK(t.on_tripwire == OnTripwire::block);
  CHECK(config.policy("base")->rules.size() == 3);
}

TEST_CASE("a policy's grants are checked against what it includes, too") {
  CHECK(parse_config(
            "version: 1\n"
            "secrets: {tok: {source: {env: TOK}}}\n"
            "policies:\n"
            "  t: {include: [preset/openai], grants: [{secret: tok, hosts: [api.openai.com]}]}\n",
            "w.yaml")
            .policies[0]
            .grants.size() == 1);
  const std::string text =
      "version: 1\n"
      "secrets: {tok: {source: {env: TOK}}}\n"
      "policies:\n"
      "  raw: {rules: [{name: db, hosts: [db.test], ports: [443], action: tcp}]}\n"
      "  t: {include: [raw], grants: [{secret: tok, hosts: [db.test]}]}\n";
  try {
    (void)parse_config(text, "w.yaml");
    FAIL("it loads");
  } catch (const ConfigError& error) {
    CHECK(holds(error.what(), "only rule 'raw.db' reaches it, which inspects nothing"));
  }
}

TEST_CASE("what is included must not contradict") {
  CHECK(error_of("  t: {include: [preset/pypi], rules: [{name: x, hosts: [pypi.org], ports: [443], "
                 "action: "
                 "tunnel}]}\n")
            .starts_with("/project/w.yaml:3:17: in what is included: "));
  CHECK(
      error_of("  t: {include: [preset/pypi], rules: [{name: pypi.index, hosts: [a.test], action: "
               "allow}]}\n") ==
      "/project/w.yaml:3:17: this include brings rule 'pypi.index' (preset/pypi:5), a name that "
      "another "
      "rule has (w.yaml:3): give that one another name");
}

TEST_CASE("bad includes say what is meant") {
  const std::vector<std::pair<const char*, const char*>> cases{
      {"  t: {include: preset/npm}\n",
       R"(3:16: 'include' must be a list, not "preset/npm": write include: [preset/npm])"},
      {"  t: {include: []}\n",
       "3:16: 'include' is an empty list: name at least one, or remove the key"},
      {"  t: {include: [preset/npn]}\n",
       R"(3:17: unknown name "preset/npn" in 'include': did you mean 'preset/npm'?)"},
      {"  t: {include: [npm]}\n",
       R"(3:17: unknown name "npm" in 'include': did you mean 'preset/npm'?)"},
      {"  t: {include: [../etc/passwd]}\n", R"(3:17: unknown name "../etc/passwd" in 'include')"},
      {"  t: {include: [[a]]}\n",
       "3:17: an entry of 'include' must be a name such as preset/npm, or a name "
       "with its parameters such as preset/github-repository: {repository: "
       "acme/x}, not a list"},
      {"  t: {include: [preset/npm, preset/npm]}\n",
       R"(3:29: "preset/npm" stands twice in this list: remove one (a parameter takes a list of values))"},
      {"  t: {include: [preset/github-repository]}\n",
       "3:17: preset/github-repository needs 'repository', a repository as OWNER/NAME, without "
       ".git: write "
       "{preset/github-repository: {repository: acme/x}}"},
      {"  t: {include: [{preset/github-repository: {repositry: acme/x}}]}\n",
       "3:45: unknown key 'repositry' in the include of preset/github-repository: did you mean "
       "'repository'?"},
      {"  t: {include: [{preset/npm: {repository: acme/x}}]}\n",
       "3:31: unknown key 'repository' in the include of preset/npm: known are methods"},
      {"  t: {include: [{preset/github-repository: {repository: \"acme/*\"}}]}\n",
       R"(3:57: 'repository' is "acme/*", which may hold letters, digits, '.', '-', '_' and '/' only, and stands for itself, never for a pattern: write a value such as acme/x)"},
      {"  t: {include: [{preset/github-repository: {repository: acme}}]}\n",
       R"(3:57: 'repository' is "acme", which is not a repository as OWNER/NAME, without .git: write a value such as acme/x)"},
      {"  t: {include: [{preset/aws: {services: [s3, s3], regions: eu-central-1}}]}\n",
       R"(3:46: "s3" stands twice in this list: remove one)"},
      {"  t: {include: [t]}\n",
       R"(3:17: 'include' goes in a circle: "t" includes "t": remove one of them)"},
      {"  t: {include: [u]}\n  u: {include: [v]}\n  v: {include: [t]}\n",
       R"(5:17: 'include' goes in a circle: "t" includes "u" includes "v" includes "t": remove one of them)"},
      {"  t: {include: [u]}\n  u: {include: [u]}\n",
       R"(4:17: 'include' goes in a circle: "t" includes "u" includes "u": remove one of them)"},
      {"  t: {include: [{u: {repository: acme/x}}]}\n  u: {}\n",
       "3:22: unknown key 'repository' in the include of a policy: known are methods"},
  };
  for (const auto& [text, sentence] : cases) {
    CAPTURE(text);
    const std::string error = error_of(text);
    CAPTURE(error);
    CHECK(error.starts_with("/project/w.yaml:" + std::string(sentence)));
  }
}

TEST_CASE("includes are bounded, however they are nested") {
  std::string deep;
  for (int i = 0; i < 12; ++i)
    deep += "  p" + std::to_string(i) + ": {include: [p" + std::to_string(i + 1) + "]}\n";
  CHECK(holds(error_of(deep + "  p12: {}\n"), "goes more than 8 deep"));

  // Without a memory of what is known, each level would double the work of the next.
  std::string wide = "  p0: {rules: [{hosts: [a.test], action: allow}]}\n";
  for (int i = 1; i < 8; ++i) {
    wide += "  p" + std::to_string(i) + ": {include: [";
    for (int k = 0; k < i; ++k) wide += (k > 0 ? ", p" : "p") + std::to_string(k);
    wide += "]}\n";
  }
  CHECK(load(wide).policies.back().rules.size() == 64);

  std::string values = "a/x0";
  for (int i = 1; i <= 40; ++i) values += ", a/x" + std::to_string(i);
  CHECK(holds(
      error_of("  t: {include: [{preset/github-repository: {repository: [" + values + "]}}]}\n"),
      "'repository' has more than 40 values"));

  std::string many = "  base: {rules: [";
  for (int i = 0; i < 1500; ++i)
    many += (i > 0 ? ", " : "") + std::string("{hosts: [a") + std::to_string(i) +
            ".test], action: allow}";
  many += "]}\n  other: {include: [base]}\n";
  CHECK(holds(error_of(many + "  t: {include: [base, other]}\n"), "brings more than 2000 rules"));
  for (int i = 0; i < 7; ++i) many += "  t" + std::to_string(i) + ": {include: [base]}\n";
  CHECK(holds(error_of(many), "include more than 10000 rules"));

  const std::string name(60, 'n');
  CHECK(holds(
      error_of("  " + name +
               ": {rules: [{name: longer, hosts: [a.test], action: allow}]}\n  t: {include: [" +
               name + "]}\n"),
      "longer than 64 characters"));
}

TEST_CASE("what is printed for an including policy loads to the same rules") {
  const Config config = load(
      "  t: {include: [preset/npm, {preset/aws: {services: [sts], regions: [eu-west-1]}}, "
      "profile/claude-code]}\n");
  const std::string yaml = to_yaml(config, "t");
  const Config again = parse_config(yaml, "/project/w.yaml");
  REQUIRE(again.policies[0].rules.size() == config.policies[0].rules.size());
  CHECK(to_yaml(again, "t") == yaml);
  CHECK(config.secrets.empty());
  CHECK(config.policies[0].grants.empty());
}
