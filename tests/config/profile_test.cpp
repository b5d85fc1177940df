// Agent profiles: that the built-in ones are whole, and how one joins flags and a configuration.
#include "config/profile.hpp"

#include <algorithm>
#include <set>

#include "config/load.hpp"
#include "config/presets.hpp"
#include "policy/policy.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

const std::vector<std::string> kAgents{"aider",      "claude-code", "codex",   "copilot-cli",
                                       "gemini-cli", "goose",       "opencode"};

auto set(std::set<std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) {
    return variables.contains(name);
  };
}

Config with_profile(const std::string& name, std::set<std::string> variables, Config config = {},
                    const std::string& policy = "run") {
  (void)apply_profile(config, policy, read_profile(name), set(std::move(variables)));
  return config;
}

bool asks(const Config& config, const char* host, const char* method, const char* path) {
  const PolicyConfig& policy = config.policies.at(0);
  return Policy(policy.name, policy.rules)
      .authorize({{Scheme::https, HostName::parse(host).value(), 443}, method, path})
      .allows();
}

}  // namespace

TEST_CASE("the built-in profiles are whole") {
  std::vector<std::string> names;
  for (const std::string& name : profile_names()) names.push_back(name.substr(8));
  CHECK(names == kAgents);
  std::set<std::string> commands;
  for (const std::string& name : kAgents) {
    INFO(name);
    const Profile profile = read_profile(name);
    CHECK_FALSE(profile.commands.empty());
    for (const std::string& command : profile.commands) CHECK(commands.insert(command).second);
    CHECK_FALSE(profile.rules.empty());
    CHECK_FALSE(profile.secrets.empty());
    CHECK_FALSE(profile.trust.empty());
    // Each secret is granted, at exact hosts that a rule inspects, at a named header.
    for (const SecretConfig& secret : profile.secrets) {
      INFO(secret.name);
      CHECK(secret.source.kind == SourceConfig::Kind::env);
      CHECK(secret.name == secret.source.env);
      CHECK(std::any_of(profile.grants.begin(), profile.grants.end(),
                        [&](const Grant& grant) { return grant.secret == secret.name; }));
    }
    for (const Grant& grant : profile.grants) {
      CHECK(grant.at.size() == 1);
      CHECK(grant.at.at(0).kind == Place::Kind::header);
      for (const HostPattern& host : grant.hosts) {
        CHECK(host.str().find('*') == std::string::npos);
        CHECK(std::any_of(profile.rules.begin(), profile.rules.end(), [&](const Rule& rule) {
          return std::find(rule.hosts.begin(), rule.hosts.end(), host) != rule.hosts.end();
        }));
      }
    }
    for (const Rule& rule : profile.rules) {
      INFO(rule.name);
      CHECK(rule.action == Action::allow);
      CHECK(rule.ports == std::vector<std::uint16_t>{443});
      CHECK_FALSE(rule.paths.empty());
      CHECK(rule.name.starts_with(name + '.'));
    }
    // What is set or passed is no secret and nothing of Warder's own.
    std::vector<std::string> variables = profile.pass;
    for (const auto& [variable, value] : profile.environment) variables.push_back(variable);
    for (const std::string& variable : variables) {
      INFO(variable);
      CHECK(is_env_name(variable));
      CHECK_FALSE(is_reserved_env(variable));
      for (const char* word :
           {"KEY", "TOKEN", "SECRET", "PASSWORD", "PROXY", "CERT", "URL", "HOST"}) {
        const bool says_so = variable.ends_with(std::string("_") + word);
        CHECK_FALSE(says_so);
      }
    }
    // No file in which agents keep what they log in with, and nothing above one.
    for (const HomePlace& place : profile.home) {
      for (const char* never :
           {".claude/.credentials.json", ".claude.json", ".codex/auth.json",
            ".gemini/oauth_creds.json", ".gemini/.env", ".local/share/opencode/auth.json",
            ".copilot/config.json", ".aider.conf.yml", ".env", ".config/goose/secrets.yaml"}) {
        INFO(place.path << " and " << never);
        CHECK_FALSE((std::string(never) + '/').starts_with(place.path + '/'));
      }
    }
  }
}

TEST_CASE("a profile is found by the program that it is for") {
  CHECK(profile_for("claude") == "claude-code");
  CHECK(profile_for("/usr/local/bin/codex") == "codex");
  CHECK(profile_for("copilot") == "copilot-cli");
  CHECK(profile_for("sh").empty());
  CHECK(profile_for("").empty());
  CHECK_THROWS_WITH(
      read_profile("claude-cod"),
      "--profile \"claude-cod\": there is no such profile: did you mean 'claude-code'?");
  // Its program's name, which may be nothing like its own.
  CHECK_THROWS_WITH(read_profile("claude"),
                    "--profile \"claude\": there is no such profile: did you mean 'claude-code'?");
  CHECK_THROWS_WITH(read_profile("copilot"),
                    "--profile \"copilot\": there is no such profile: did you mean 'copilot-cli'?");
  CHECK_THROWS_AS(read_profile(""), ConfigError);
  CHECK_THROWS_AS(read_profile("../npm"), ConfigError);
}

TEST_CASE("a profile brings the secrets that are set, and says which are not") {
  Config config;
  const ProfileSecrets secrets = apply_profile(config, "claude-code", read_profile("claude-code"),
                                               set({"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}));
  CHECK(secrets.found == std::vector<std::string>{"ANTHROPIC_API_KEY"});
  CHECK(secrets.missing ==
        std::vector<std::string>{"ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"});
  REQUIRE(config.secrets.size() == 1);
  CHECK(config.secrets[0].placeholder_env == "ANTHROPIC_API_KEY");
  REQUIRE(config.policies.size() == 1);
  REQUIRE(config.policies[0].grants.size() == 1);
  CHECK(config.policies[0].grants[0].hosts.at(0).str() == "api.anthropic.com");
  CHECK(config.policies[0].grants[0].at.at(0).str() == "header:x-api-key");
  CHECK(asks(config, "api.anthropic.com", "POST", "/v1/messages"));
  CHECK(asks(config, "api.anthropic.com", "GET", "/api/hello"));
  CHECK_FALSE(asks(config, "api.anthropic.com", "POST", "/api/event_logging/batch"));
  CHECK_FALSE(asks(config, "statsig.anthropic.com", "POST", "/v1/rgstr"));
  CHECK_FALSE(asks(config, "registry.npmjs.org", "GET", "/@anthropic-ai%2fclaude-code"));
}

TEST_CASE("a minted token is captured only where there is one to trade") {
  CHECK(with_profile("copilot-cli", {}).policies[0].captures.empty());
  CHECK(with_profile("copilot-cli", {"GH_TOKEN"}).policies[0].captures.size() == 1);
}

TEST_CASE("flags come on top of a profile") {
  Config config = with_profile("codex", {"OPENAI_API_KEY"});
  apply_flags(config, "run", {{"pypi.org"}, {"OPENAI_API_KEY@proxy.test"}});
  CHECK(asks(config, "pypi.org", "GET", "/"));
  CHECK(asks(config, "proxy.test", "POST", "/"));
  CHECK(config.secrets.size() == 1);
  const std::string yaml = to_yaml(config, "run");
  CHECK(to_yaml(parse_config(yaml, "w.yaml"), "run") == yaml);
}

TEST_CASE("a configuration's own word counts more than the profile's") {
  const std::string text =
      "version: 1\n"
      "secrets: {key: {source: {file: /k/openai}, placeholder: {env: OPENAI_API_KEY}}}\n"
      "policies:\n"
      "  t:\n"
      "    include: [profile/codex]\n"
      "    rules: [{name: no-audio, hosts: [api.openai.com], paths: [\"/v1/audio/**\"], action: "
      "deny}]\n"
      "    grants: [{secret: key, hosts: [gateway.test], at: [\"header:authorization\"]}]\n";
  const Config before = parse_config(text, "w.yaml");
  const Config after = with_profile("codex", {"OPENAI_API_KEY"}, before, "t");
  CHECK(after.secrets.size() == 1);
  CHECK(after.policies[0].grants.size() == 1);
  // What was included already does not come twice.
  CHECK(after.policies[0].rules.size() == before.policies[0].rules.size());
  CHECK_FALSE(asks(after, "api.openai.com", "POST", "/v1/audio/speech"));

  // Where it has the secret and says nothing of hosts, the profile does, by the configuration's name.
  const Config granted = with_profile(
      "codex", {},
      parse_config(
          "version: 1\n"
          "secrets: {key: {source: {file: /k/openai}, placeholder: {env: OPENAI_API_KEY}}}\n"
          "policies: {t: {rules: []}}\n",
          "w.yaml"),
      "t");
  REQUIRE(granted.policies[0].grants.size() == 1);
  CHECK(granted.policies[0].grants[0].secret == "key");
}

TEST_CASE("a profile that contradicts the configuration is refused, and changes nothing") {
  Config config = parse_config(
      "version: 1\n"
      "policies: {t: {rules: [{name: x, hosts: [api.openai.com], ports: [443], action: "
      "tunnel}]}}\n",
      "w.yaml");
  CHECK_THROWS_AS(apply_profile(config, "t", read_profile("codex"), set({"OPENAI_API_KEY"})),
                  ConfigError);
  CHECK(config.policies[0].rules.size() == 1);
  CHECK(config.secrets.empty());
}
