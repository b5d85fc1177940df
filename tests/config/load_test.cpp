// What a good configuration means, and that no text, however hostile, takes long or crashes.
#include "config/load.hpp"

#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <random>

#include "config/summary.hpp"
#include "policy/policy.hpp"
#include "tests/config/contract.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {
Config load(const std::string& yaml) { return parse_config(yaml, "/project/warder.yaml"); }

std::string error_of(const std::string& yaml) {
  try {
    (void)load(yaml);
    return "it loads";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

Verdict ask(const Config& config, const std::string& host, const char* method, const char* path) {
  const PolicyConfig& first = config.policies.at(0);
  return Policy(first.name, first.rules)
      .authorize({{Scheme::https, HostName::parse(host).value(), 443}, method, path});
}
}  // namespace

TEST_CASE("the contract configuration loads as it is meant") {
  const Config config = load(kContract);
  CHECK(config.file == "/project/warder.yaml");
  CHECK(config.bytes == kContract);

  REQUIRE(config.secrets.size() == 1);
  const SecretConfig& tok = *config.secret("tok");
  CHECK(tok.source.kind == SourceConfig::Kind::env);
  CHECK(tok.source.env == "REAL_TOKEN");
  CHECK(tok.placeholder_env == "API_TOKEN");
  CHECK(tok.where == "warder.yaml:3");

  const PolicyConfig& policy = *config.policy("t");
  REQUIRE(policy.rules.size() == 2);
  const Rule& api = policy.rules[0];
  CHECK(api.name == "api");
  CHECK(api.where == "warder.yaml:7");
  CHECK(api.action == Action::allow);
  CHECK(api.methods == std::vector<std::string>{"GET", "POST", "PUT", "HEAD"});
  CHECK(api.paths.at(0).str() == "/**");
  CHECK(api.ports.empty());
  CHECK_FALSE(api.allow_private);

  REQUIRE(policy.grants.size() == 1);
  CHECK(policy.grants[0].secret == "tok");
  CHECK(policy.grants[0].hosts.at(0).str() == "api.test");
  CHECK(policy.grants[0].at ==
        std::vector<Place>{{Place::Kind::header, "authorization"}, {Place::Kind::basic, ""}});

  CHECK(config.gateway.audit_file == "/project/audit/audit.jsonl");
  CHECK(config.gateway.upstream.ca == std::vector<std::filesystem::path>{"/project/test-ca.pem"});
  CHECK(config.gateway.upstream.connect_to ==
        std::map<std::string, std::string>{{"api.test:443", "127.0.0.1:8443"}});
  CHECK(config.policy("u") == nullptr);
  CHECK(config.secret("toc") == nullptr);

  CHECK(ask(config, "api.test", "GET", "/x").allows());
  CHECK(ask(config, "api.test", "DELETE", "/x").reason == Reason::method_not_allowed);
  CHECK(ask(config, "other.test", "DELETE", "/x").rule == "other");
  CHECK(ask(config, "evil.test", "GET", "/").suggestion == "--allow evil.test");
}

TEST_CASE("the example loads, and says every key there is") {
  const auto example = std::filesystem::path(WARDER_SOURCE_DIR) / "config/example.yaml";
  const Config config = load_config(example);
  CHECK(config.policies.at(0).rules.size() == 8);
  CHECK(config.secret("anthropic")->source.file == "/run/secrets/anthropic");
  CHECK(config.secret("github")->placeholder_env == "GITHUB_TOKEN");
  CHECK(config.gateway.upstream.response_timeout == std::chrono::minutes(5));
  CHECK(ask(config, "api.github.com", "GET", "/repos/acme/x/issues").rule == "issues");
  CHECK(ask(config, "api.github.com", "GET", "/repos/acme/x/%6Beys").rule == "no-keys");
  for (const char* key : {"name:",
                          "mode:",
                          "tripwire:",
                          "hosts:",
                          "ports:",
                          "methods:",
                          "paths:",
                          "action:",
                          "allow_private:",
                          "secret:",
                          "at:",
                          "foreign:",
                          "max:",
                          "plain_http:",
                          "capture:",
                          "fields:",
                          "source:",
                          "placeholder:",
                          "shape:",
                          "template:",
                          "weak:",
                          "format:",
                          "audit:",
                          "ca:",
                          "connect_to:",
                          "resolvers:",
                          "connect_timeout:",
                          "response_timeout:",
                          "idle_timeout:",
                          "pool:",
                          "idle:",
                          "per_authority:",
                          "per_session:"}) {
    CAPTURE(key);
    CHECK(config.bytes.find(key) != std::string::npos);
  }
}

TEST_CASE("what is left out refuses") {
  for (const char* yaml :
       {"version: 1\n", "version: 1\npolicies: {t: {}}\n",
        "version: 1\npolicies: {t: {rules: []}}\n",
        "version: 1\nsecrets: {a: {source: {env: A}}}\npolicies: {t: {grants: [{secret: a, hosts: "
        "[api.test]}]}}\n",
        "version: 1\npolicies: {t: {rules: [{hosts: [api.test], action: deny}]}}\n"}) {
    CAPTURE(yaml);
    const Config config = load(yaml);
    const auto rules = config.policies.empty() ? std::vector<Rule>{} : config.policies[0].rules;
    const Policy policy("t", rules);
    CHECK_FALSE(
        policy.authorize_connection({Scheme::https, HostName::parse("api.test").value(), 443})
            .allows());
    CHECK_FALSE(policy.authorize_name(HostName::parse("api.test").value()).allows());
  }
}

TEST_CASE("defaults of rules, grants and placeholders") {
  const Config config = load(
      "version: 1\n"
      "secrets: {a: {source: {env: A}}, f: {source: {file: sub/f}, placeholder: {env: F}}}\n"
      "policies:\n"
      "  t:\n"
      "    rules:\n"
      "      - {hosts: [\"**.X.test.\"], action: allow}\n"
      "      - {hosts: [10.0.0.1, \"2001:db8::1\"], ports: [8443, 80], action: allow, "
      "allow_private: true}\n"
      "    grants:\n"
      "      - {secret: a, hosts: [x.test]}\n"
      "      - {secret: f, hosts: [x.test], at: [\"header:X-Api-Key\"]}\n");
  const PolicyConfig& policy = config.policies[0];
  CHECK(policy.rules[0].name == "rule-1");
  CHECK(policy.rules[0].where == "warder.yaml:6");
  CHECK(policy.rules[0].hosts[0].str() == "**.x.test");
  CHECK(policy.rules[1].name == "rule-2");
  CHECK(policy.rules[1].ports == std::vector<std::uint16_t>{8443, 80});
  CHECK(policy.rules[1].allow_private);
  CHECK(policy.grants[0].at == default_places());
  CHECK(policy.grants[1].at == std::vector<Place>{{Place::Kind::header, "x-api-key"}});
  CHECK(config.secret("a")->placeholder_env == "A");
  CHECK(config.secret("f")->source.kind == SourceConfig::Kind::file);
  CHECK(config.secret("f")->source.file == "/project/sub/f");
}

TEST_CASE("the place of an entry has no directory in it: the sandbox reads it") {
  const Config config = parse_config(kContract, "/home/me/secret-project/warder.yaml");
  CHECK(config.policies[0].rules[0].where == "warder.yaml:7");
  CHECK(config.policies[0].where == "warder.yaml:5");
  CHECK(error_of("version: 3\n") ==
        "/project/warder.yaml:1:10: version \"3\" is not known: write version: 1");
}

TEST_CASE("files that are no configuration") {
  const TemporaryDirectory dir;
  const auto fails = [](const std::filesystem::path& file) {
    try {
      (void)load_config(file);
      return std::string("it loads");
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
  };
  const std::string at = dir.path().string();
  CHECK(fails(dir.path() / "none.yaml") ==
        at + "/none.yaml: cannot be read: No such file or directory");
  CHECK(fails(dir.path()) == at + ": cannot be read: it is not a regular file");
  REQUIRE(::mkfifo((at + "/fifo").c_str(), 0600) == 0);
  CHECK(fails(dir.path() / "fifo") == at + "/fifo: cannot be read: it is not a regular file");
  std::ofstream(dir.path() / "big.yaml") << std::string(10 * 1024 * 1024, '#');
  CHECK(fails(dir.path() / "big.yaml") ==
        at + "/big.yaml: larger than 1048576 bytes, which no configuration needs");
  std::ofstream(dir.path() / "good.yaml") << kContract;
  CHECK(load_config(dir.path() / "good.yaml").bytes == kContract);
  // A writer that stops in the middle never leaves a wider policy behind.
  const std::string whole = kContract;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    try {
      const Config part = load(whole.substr(0, size));
      for (const PolicyConfig& policy : part.policies) {
        CHECK(policy.rules.size() <= 2);
        CHECK_FALSE(
            Policy("t", policy.rules)
                .authorize_connection({Scheme::https, HostName::parse("evil.test").value(), 443})
                .allows());
      }
    } catch (const ConfigError&) {
    }
  }
}

TEST_CASE("nothing hides from whoever reads the file") {
  // yaml-cpp ends at 0x04, and reads UTF-16.
  CHECK(
      error_of(std::string(kContract) + "\x04 more") ==
      "/project/warder.yaml:16:1: a control byte stands here: a configuration is plain UTF-8 text");
  CHECK(error_of(std::string("v\0e\0r\0", 6)).find("control byte") != std::string::npos);
  CHECK(error_of("version: 1\n\x1b[2J: 1\n").find(":2:1: a control byte") != std::string::npos);
  CHECK(error_of("version: 1\n\"\\e[2J\": 1\n").find("unknown key '\\x1b[2J'") !=
        std::string::npos);
  const std::string shown = summary(load(kContract));
  CHECK(shown ==
        "policy 't':\n"
        "  allow  api.test : 443 (TLS), 80 (clear text) · GET, POST, PUT, HEAD · /**   [api, "
        "warder.yaml:7]\n"
        "  allow  other.test : 443 (TLS), 80 (clear text) · any method · any path   [other, "
        "warder.yaml:8]\n"
        "  grant  secret 'tok' (from $REAL_TOKEN, as $API_TOKEN) at api.test in "
        "header:authorization, basic"
        "   [warder.yaml:10]\n"
        "  refuse everything else\n"
        "gateway:\n"
        "  audit file \"/project/audit/audit.jsonl\"\n"
        "  trusts the authority in \"/project/test-ca.pem\"\n"
        "  connects to 127.0.0.1:8443 for api.test:443\n");
}

TEST_CASE("rules that inspect nothing say so") {
  const Config config = load(
      "version: 1\npolicies:\n  t:\n    rules:\n"
      "      - {name: db, hosts: [db.test], ports: [5432, 443], action: tcp, allow_private: true}\n"
      "      - {name: push, hosts: [\"*.push.test\"], ports: [443], action: tunnel}\n"
      "      - {hosts: [db.test], ports: [80], action: allow}\n");
  CHECK(config.policies[0].rules[0].action == Action::tcp);
  CHECK(config.policies[0].rules[1].action == Action::tunnel);
  CHECK(summary(config) ==
        "policy 't':\n"
        "  tcp    db.test : 5432, 443 · any bytes, not inspected · private addresses too   [db, "
        "warder.yaml:5]\n"
        "  tunnel *.push.test : 443 · TLS end to end, not inspected   [push, warder.yaml:6]\n"
        "  allow  db.test : 80 (clear text) · any method · any path   [rule-3, warder.yaml:7]\n"
        "  refuse everything else\n");
}

TEST_CASE("hostile YAML ends quickly") {
  const auto repeated = [](const std::string& unit, std::size_t size = 1024 * 1024) {
    std::string out;
    while (out.size() + unit.size() < size) out += unit;
    return out;
  };
  std::string laughs = "version: 1\na: &a [x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    laughs += std::string(1, c) + ": &" + c + " [" + repeated("*" + before + ",", 27) + "]\n";
  }
  std::vector<std::string> texts{laughs};
  for (const char* unit :
       {"[",     "{",    "- ", "? ",   "a: ", "&a ",      "*a ",  "!a ",    "a\n",
        "- a\n", "\"",   "'",  "|\n",  ">",   "{a: b}, ", "[a, ", "%\n",    "---\n",
        "...\n", "# \n", " ",  "\n",   "{a,", "!<",       "a,",   "- - \n", "\xef\xbb\xbf",
        "\xff",  "{? ",  "[{", "a: [", "\r",  "\t",       "\\",   "`",      "@"}) {
    texts.push_back(repeated(unit));
    texts.push_back("version: 1\n" + repeated(unit, 100 * 1000));
  }
  const std::string rule = "      - {hosts: [a.test], action: allow}\n";
  texts.push_back("version: 1\npolicies:\n  t:\n    rules:\n" + repeated(rule, 1000 * 1000));
  texts.push_back("version: 1\npolicies: {t: {rules: [{action: allow, hosts: [" +
                  repeated("a.test,", 1000 * 1000) + "]}]}}");
  std::string many = "version: 1\nsecrets:\n";
  for (int i = 0; i < 30'000; ++i)
    many += "  s" + std::to_string(i) + ": {source: {env: S" + std::to_string(i) + "}}\n";
  texts.push_back(many.substr(0, 1024 * 1024));
  texts.push_back("version: 1\npolicies: {t: {rules: [{hosts: [\"" + repeated("a://", 1000 * 1000) +
                  "\"]}]}}");
  texts.push_back("version: 1\npolicies: {t: {rules: [{paths: [\"/" + repeated("{*", 1000 * 1000) +
                  "\"], hosts: [a.test]}]}}");
  texts.push_back("version: 1\n" + repeated("k", 1000 * 1000) + ": 1\n");
  // Comments and white space after a document are none of its content.
  const auto is_harmless = [](const std::string& text) {
    const std::string start = text.substr(0, 14);
    return start == "version: 1\n# \n" || start == "version: 1\n   " ||
           start == "version: 1\n\n\n\n" || start == "version: 1\n...";
  };
  for (const std::string& text : texts) {
    CAPTURE(text.substr(0, 60), text.size());
    const auto begin = std::chrono::steady_clock::now();
    const std::string error = error_of(text);
    CHECK(error.size() < 600);
    CHECK((error == "it loads") == is_harmless(text));
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  }
  CHECK(error_of("version: 1\nx: [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]\n") ==
        "/project/warder.yaml:2:19: nested more than 16 levels deep");
}

TEST_CASE("a damaged configuration is an error or a configuration, never a crash") {
  std::mt19937 random(20261129);
  const std::string whole = kContract;
  const std::string alphabet = ":{}[],-\"'#&*!|>%@`? \n\tabcxyz019/.\\~<\x01\x7f\xc3\xff";
  int loaded = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = whole;
    for (auto edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = alphabet[random() % alphabet.size()]; break;
        case 1: text.insert(at, 1, alphabet[random() % alphabet.size()]); break;
        case 2: text.erase(at, 1 + random() % 8); break;
        case 3: text.insert(at, text.substr(random() % text.size(), random() % 40)); break;
      }
      if (text.empty()) text = "x";
    }
    CAPTURE(text);
    try {
      const Config config = load(text);
      ++loaded;
      for (const PolicyConfig& policy : config.policies) {
        for (const Rule& rule : policy.rules) CHECK_FALSE(rule.hosts.empty());
        for (const Grant& grant : policy.grants) CHECK(config.secret(grant.secret) != nullptr);
      }
    } catch (const ConfigError& error) {
      const std::string what = error.what();
      CHECK(what.starts_with("/project/warder.yaml:"));
      CHECK(what.find_first_of("\n\x1b\x01") == std::string::npos);
    }
  }
  CHECK(loaded > 100);
}

TEST_CASE("how long a load takes", "[.bench]") {
  std::string yaml = "version: 1\npolicies:\n  t:\n    rules:\n";
  for (int i = 0; i < 500; ++i) {
    yaml += "      - {hosts: [h" + std::to_string(i) +
            ".test], methods: [GET, POST], paths: [\"/repos/*/*/issues/**\"], action: allow}\n";
  }
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) CHECK(load(yaml).policies[0].rules.size() == 500);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  std::cout << "load, 500 rules: " << took.count() / 20 << " ms\n";
}

TEST_CASE(
    "a secret may come from a helper or from the store, and the printed configuration says the "
    "same") {
  const std::string text =
      "version: 1\n"
      "secrets:\n"
      "  a: {source: {exec: [pass, show, \"x y\"], timeout: 2s, cache: 90s, env: [GNUPGHOME]}, "
      "placeholder: {env: A}}\n"
      "  b: {source: {exec: [./get], cache: once}, placeholder: {env: B}}\n"
      "  c: {source: {exec: [git-credential-store], format: git-credential, host: github.com}, "
      "placeholder: {env: C}}\n"
      "  d: {source: {store: github}, placeholder: {env: D}}\n"
      "  e: {source: {store: github, file: /var/lib/x/secrets}, placeholder: {env: E}}\n"
      "policies: {p: {rules: [{hosts: [api.test], action: allow}]}}\n";
  const Config config = parse_config(text, "/project/w.yaml");
  const SourceConfig& a = config.secret("a")->source;
  CHECK(a.kind == SourceConfig::Kind::exec);
  CHECK(a.exec.argv == std::vector<std::string>{"pass", "show", "x y"});
  CHECK(a.exec.timeout == std::chrono::seconds(2));
  CHECK(a.exec.cache == std::chrono::seconds(90));
  CHECK(a.exec.env == std::vector<std::string>{"GNUPGHOME"});
  const SourceConfig& b = config.secret("b")->source;
  CHECK(b.exec.argv.front() == "/project/get");
  CHECK_FALSE(b.exec.cache.has_value());
  CHECK(b.exec.timeout == std::chrono::seconds(5));
  const SourceConfig& c = config.secret("c")->source;
  CHECK(c.exec.format == HelperFormat::git_credential);
  CHECK(c.exec.host == "github.com");
  CHECK(c.exec.cache == std::chrono::minutes(5));
  CHECK(config.secret("d")->source.store == "github");
  CHECK(config.secret("d")->source.file.empty());
  CHECK(config.secret("e")->source.file == "/var/lib/x/secrets");
  const Config again = parse_config(to_yaml(config, "p"), "/project/w.yaml");
  for (const char* name : {"a", "b", "c", "d", "e"})
    CHECK(again.secret(name)->source == config.secret(name)->source);
}
