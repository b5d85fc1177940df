// The one line without a file: what it allows, what it refuses, and the YAML that says the same.
#include "config/load.hpp"
#include "policy/policy.hpp"
#include "tests/config/contract.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {

Config with_flags(const RunFlags& flags, Config config = {}) {
  apply_flags(config, config.policies.empty() ? "run" : config.policies[0].name, flags);
  return config;
}

std::string error_of(const RunFlags& flags, const Config& config = {}) {
  try {
    (void)with_flags(flags, config);
    return "taken";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

Verdict ask(const Config& config, Scheme scheme, const std::string& host, std::uint16_t port) {
  return Policy("run", config.policies.at(0).rules)
      .authorize({{scheme, HostName::parse(host).value(), port}, "GET", "/"});
}

// Everything but the places, which differ by nature.
void check_equal(const Config& a, const Config& b) {
  REQUIRE(a.secrets.size() == b.secrets.size());
  for (std::size_t i = 0; i < a.secrets.size(); ++i) {
    CHECK(a.secrets[i].name == b.secrets[i].name);
    CHECK(a.secrets[i].source.kind == b.secrets[i].source.kind);
    CHECK(a.secrets[i].source.env == b.secrets[i].source.env);
    CHECK(a.secrets[i].source.file == b.secrets[i].source.file);
    CHECK(a.secrets[i].placeholder_env == b.secrets[i].placeholder_env);
  }
  REQUIRE(a.policies.size() == b.policies.size());
  for (std::size_t p = 0; p < a.policies.size(); ++p) {
    const PolicyConfig& x = a.policies[p];
    const PolicyConfig& y = b.policies[p];
    CHECK(x.name == y.name);
    REQUIRE(x.rules.size() == y.rules.size());
    for (std::size_t i = 0; i < x.rules.size(); ++i) {
      CHECK(x.rules[i].name == y.rules[i].name);
      CHECK(x.rules[i].hosts == y.rules[i].hosts);
      CHECK(x.rules[i].ports == y.rules[i].ports);
      CHECK(x.rules[i].methods == y.rules[i].methods);
      CHECK(x.rules[i].paths == y.rules[i].paths);
      CHECK(x.rules[i].action == y.rules[i].action);
      CHECK(x.rules[i].allow_private == y.rules[i].allow_private);
    }
    REQUIRE(x.grants.size() == y.grants.size());
    for (std::size_t i = 0; i < x.grants.size(); ++i) {
      CHECK(x.grants[i].secret == y.grants[i].secret);
      CHECK(x.grants[i].hosts == y.grants[i].hosts);
      CHECK(x.grants[i].at == y.grants[i].at);
    }
  }
  for (std::size_t p = 0; p < a.policies.size(); ++p) {
    const auto& x = a.policies[p].certificates;
    const auto& y = b.policies[p].certificates;
    REQUIRE(x.size() == y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(x[i].certificate == y[i].certificate);
      CHECK(x[i].key == y[i].key);
      CHECK(x[i].hosts == y[i].hosts);
    }
  }
  CHECK(a.gateway.audit_file == b.gateway.audit_file);
  CHECK(a.gateway.upstream.ca == b.gateway.upstream.ca);
  CHECK(a.gateway.upstream.connect_to == b.gateway.upstream.connect_to);
  CHECK(a.gateway.upstream.resolvers == b.gateway.upstream.resolvers);
  CHECK(a.gateway.upstream.connect_timeout == b.gateway.upstream.connect_timeout);
  CHECK(a.gateway.upstream.response_timeout == b.gateway.upstream.response_timeout);
  CHECK(a.gateway.upstream.idle_timeout == b.gateway.upstream.idle_timeout);
  CHECK(a.gateway.upstream.pool == b.gateway.upstream.pool);
}

void check_round_trip(const Config& config) {
  const std::string yaml = to_yaml(config, config.policies.at(0).name);
  CAPTURE(yaml);
  const Config again = parse_config(yaml, "/elsewhere/w.yaml");
  check_equal(config, again);
  CHECK(to_yaml(again, config.policies[0].name) == yaml);
}

}  // namespace

TEST_CASE("--allow and --secret become a rule each, a secret and a grant, and the YAML says so") {
  const Config config =
      with_flags({{"api.example.com"}, {"GITHUB_TOKEN@api.github.com,github.com"}});
  CHECK(to_yaml(config, "run") ==
        "version: 1\n"
        "secrets:\n"
        "  GITHUB_TOKEN: {source: {env: GITHUB_TOKEN}, placeholder: {env: GITHUB_TOKEN}}\n"
        "policies:\n"
        "  run:\n"
        "    rules:\n"
        "      - {name: rule-1, hosts: [api.example.com], action: allow}\n"
        "      - {name: rule-2, hosts: [api.github.com, github.com], ports: [443], action: allow}\n"
        "    grants:\n"
        "      - {secret: GITHUB_TOKEN, hosts: [api.github.com, github.com]}\n");
  check_round_trip(config);
  CHECK(config.policies[0].rules[0].where == "--allow api.example.com");
  CHECK(config.policies[0].rules[1].where == "--secret GITHUB_TOKEN@api.github.com,github.com");
  CHECK(ask(config, Scheme::https, "api.example.com", 443).allows());
  CHECK(ask(config, Scheme::http, "api.example.com", 80).allows());
  CHECK(ask(config, Scheme::https, "github.com", 443).allows());
  CHECK(ask(config, Scheme::http, "github.com", 80).reason == Reason::port_not_allowed);
  CHECK(ask(config, Scheme::https, "evil.test", 443).reason == Reason::host_not_allowed);
}

TEST_CASE("--allow with a port, a wildcard or an address") {
  const Config config = with_flags(
      {{"api.test:8443", "*.wild.test", "[2001:db8::1]:8080", "2001:db8::2", "10.0.0.1:9000"}, {}});
  CHECK(ask(config, Scheme::http, "api.test", 8443).allows());
  CHECK_FALSE(ask(config, Scheme::https, "api.test", 443).allows());
  CHECK(ask(config, Scheme::https, "a.wild.test", 443).allows());
  CHECK(ask(config, Scheme::http, "2001:db8::1", 8080).allows());
  CHECK(ask(config, Scheme::https, "2001:db8::2", 443).allows());
  CHECK(ask(config, Scheme::http, "10.0.0.1", 9000).allows());
  check_round_trip(config);
}

TEST_CASE("what a refusal suggests is a flag that allows it") {
  for (const std::string host : {"evil.test", "2001:db8::1", "10.0.0.1"}) {
    for (const std::uint16_t port : {std::uint16_t{443}, std::uint16_t{8443}}) {
      const Authority to{Scheme::https, HostName::parse(host).value(), port};
      const std::string suggestion = Policy().authorize_connection(to).suggestion;
      REQUIRE(suggestion.starts_with("--allow "));
      CAPTURE(suggestion);
      CHECK(ask(with_flags({{suggestion.substr(8)}, {}}), Scheme::https, host, port).allows());
    }
  }
  for (const std::string path :
       {"/admin", "/a\"b", "/x{y}/z", "/%41", "/a%2Fb/{c}%2F", "/a*b", "/"}) {
    Config config = with_flags({{}, {}});
    config = parse_config(
        "version: 1\npolicies: {run: {rules: [{hosts: [a.test], methods: [POST], paths: "
        "[\"/only\"], action: allow}]}}",
        "w.yaml");
    const Authority to{Scheme::https, HostName::parse("a.test").value(), 443};
    const std::string suggestion =
        Policy("run", config.policies[0].rules).authorize({to, "DELETE", path}).suggestion;
    REQUIRE(suggestion.starts_with("add {"));
    CAPTURE(suggestion);
    const Config wider = parse_config(
        "version: 1\npolicies: {run: {rules: [" + suggestion.substr(4) + "]}}", "w.yaml");
    CHECK(Policy("run", wider.policies[0].rules).authorize({to, "DELETE", path}).allows());
  }
}

TEST_CASE("flags add to a file, and a secret of the file is the same secret") {
  const Config file = parse_config(kContract, "/project/warder.yaml");
  const Config config = with_flags({{"more.test"}, {"REAL_TOKEN@b.test", "OTHER@c.test"}}, file);
  CHECK(config.policies.size() == 1);
  CHECK(config.secrets.size() == 2);
  CHECK(config.policies[0].rules.size() == 5);
  CHECK(config.policies[0].rules[2].name == "rule-3");
  REQUIRE(config.policies[0].grants.size() == 3);
  CHECK(config.policies[0].grants[1].secret == "tok");
  CHECK(config.policies[0].grants[2].secret == "OTHER");
  check_round_trip(config);

  Config named = parse_config(
      "version: 1\npolicies: {t: {rules: [{name: rule-2, hosts: [a.test], action: allow}]}}",
      "w.yaml");
  apply_flags(named, "t", {{"b.test", "c.test"}, {}});
  CHECK(named.policies[0].rules[1].name == "rule-3");
  CHECK(named.policies[0].rules[2].name == "rule-4");

  Config twice;
  apply_flags(twice, "run", {{}, {"T@a.test", "T@b.test"}});
  CHECK(twice.secrets.size() == 1);
  CHECK(twice.policies[0].grants.size() == 2);
}

TEST_CASE("bad flags are quoted and corrected, and change nothing") {
  const std::pair<RunFlags, std::string> table[] = {
      {{{"https://api.test/"}, {}},
       R"(--allow "https://api.test/": "https://api.test/" has a scheme, which a host does not have: write api.test instead)"},
      {{{"*"}, {}},
       R"(--allow "*": "*" would mean every host: name the hosts, or write "*.example.com" for all below one)"},
      {{{""}, {}}, R"(--allow "": "" is no host: write a name such as "api.example.com")"},
      {{{"api.test:"}, {}},
       R"(--allow "api.test:": port "" is not a number from 1 to 65535: write HOST or HOST:PORT)"},
      {{{"api.test:70000"}, {}},
       R"(--allow "api.test:70000": port "70000" is not a number from 1 to 65535: write HOST or HOST:PORT)"},
      {{{"api.test:0443"}, {}},
       R"(--allow "api.test:0443": port "0443" is not a number from 1 to 65535: write HOST or HOST:PORT)"},
      {{{"api.test/v1"}, {}},
       R"(--allow "api.test/v1": "api.test/v1" has a path, which a host does not have: write api.test and paths: ["/v1"] instead)"},
      {{{}, {"TOKEN"}},
       "--secret …: write ENV@HOST[,HOST…], such as GITHUB_TOKEN@api.github.com: the name of the "
       "variable, "
       "never its value"},
      {{{}, {"ghp-theValueItself@api.test"}},
       "--secret …\"@api.test\": write ENV@HOST[,HOST…], such as GITHUB_TOKEN@api.github.com: the "
       "name of "
       "the variable, never its value"},
      {{{}, {"TOKEN@"}},
       R"(--secret "TOKEN@": "" is no host: write a name such as "api.example.com")"},
      {{{}, {"TOKEN@a.test,"}},
       R"(--secret "TOKEN@a.test,": "" is no host: write a name such as "api.example.com")"},
      {{{}, {"TOKEN@a.test,A.TEST"}},
       R"(--secret "TOKEN@a.test,A.TEST": "A.TEST" stands twice: remove one)"},
      {{{}, {"TOKEN@a.test:8443"}},
       R"(--secret "TOKEN@a.test:8443": "a.test:8443" has a port, and --secret allows 443 only: write TOKEN@a.test and --allow a.test:8443)"},
      {{{}, {"PATH@a.test"}},
       R"(--secret "PATH@a.test": the placeholder would replace the sandbox's own variable PATH)"},
  };
  for (const auto& [flags, sentence] : table) CHECK(error_of(flags) == sentence);
  CHECK(
      error_of({{}, {"API_TOKEN@a.test"}}, parse_config(kContract, "w.yaml")) ==
      "--secret \"API_TOKEN@a.test\": secret 'tok' (w.yaml:3) already has the placeholder variable "
      "API_TOKEN: use that one, or rename it");

  const Config raw = parse_config(
      "version: 1\npolicies: {run: {rules: [{name: db, hosts: [db.test], ports: [5432], action: "
      "tcp}]}}\n",
      "w.yaml");
  CHECK(error_of({{"db.test:5432"}, {}}, raw) ==
        "rule 'db' (w.yaml:2) passes db.test port 5432 uninspected (action tcp), and rule 'rule-2' "
        "(--allow db.test:5432) allows it as inspected HTTP: take port 5432 or the host out of one "
        "of them");
  CHECK(error_of({{"db.test"}, {"TOKEN@db.test"}}, raw) == "taken");

  Config config;
  CHECK_THROWS_AS(apply_flags(config, "run", {{"good.test", "*"}, {}}), ConfigError);
  CHECK(config.policies.empty());
  CHECK_THROWS_AS(apply_flags(config, "a b", {}), ConfigError);
}

TEST_CASE("whatever loads is printed as YAML that loads to the same") {
  check_round_trip(parse_config(kContract, "/project/warder.yaml"));
  check_round_trip(parse_config(
      "version: 1\n"
      "secrets: {yes: {source: {file: \"/a b\\\"c\"}, placeholder: {env: NO}}, 1: {source: {env: "
      "_1}}}\n"
      "policies:\n"
      "  \"null\":\n"
      "    rules:\n"
      "      - {name: on, hosts: [true, \"*.x.test\", \"2001:db8::1\", 10.0.0.1], ports: [80, "
      "8443], methods: "
      "[\"NULL\", M-SEARCH], paths: [\"/a\\\"b\", \"/%2A/*\", \"/'!\"], action: deny}\n"
      "      - {name: \"1\", hosts: [\"**.y.test\"], action: allow, allow_private: true}\n"
      "      - {hosts: [db.test], ports: [22, 443], action: tcp, allow_private: true}\n"
      "      - {hosts: [\"*.push.test\"], ports: [443], action: tunnel}\n"
      "    grants:\n"
      "      - {client_certificate: {certificate: \"a, b.pem\", key: /k/a.key}, hosts: "
      "[\"*.m.test\"]}\n"
      "      - {secret: yes, hosts: [x.test], at: [basic, \"header:x-api-key\"]}\n"
      "gateway:\n"
      "  audit: {file: \"/var/ä/a.jsonl\"}\n"
      "  upstream: {ca: [\"a, b.pem\"], connect_to: {\"[2001:db8::1]:443\": \"[::1]:1\"}, "
      "resolvers: [10.0.0.53, \"[2001:db8::53]:5353\"], connect_timeout: 1ms, "
      "idle_timeout: 1440m, pool: {idle: 5s, per_authority: 1, per_session: 0}}\n",
      "/project/warder.yaml"));
  check_round_trip(parse_config("version: 1\npolicies: {t: {}}\n", "w.yaml"));
  check_round_trip(with_flags({}));
  CHECK_THROWS_WITH(to_yaml(parse_config(kContract, "w.yaml"), "tt"),
                    "unknown policy \"tt\": did you mean 't'?");
}
