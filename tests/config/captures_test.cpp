// capture: of the tokens that an origin hands out.
#include "config/load.hpp"
#include "config/summary.hpp"
#include "secrets/token_reply.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

constexpr const char* kRules =
    "version: 1\npolicies:\n  t:\n    rules:\n"
    "      - {name: id, hosts: [id.test], action: allow}\n"
    "      - {name: api, hosts: [api.test, \"*.api.test\"], action: allow}\n"
    "      - {name: raw, hosts: [raw.test], ports: [443], action: tunnel}\n    grants:\n";

Config with_grants(const std::string& grants) { return parse_config(kRules + grants, "w.yaml"); }

std::string grant_of(const std::string& capture, const std::string& rest = "hosts: [api.test]") {
  return "      - {capture: " + capture + (rest.empty() ? "" : ", " + rest) + "}\n";
}

std::string problem(const std::string& grants) {
  try {
    with_grants(grants);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

const std::string kWhole = "{name: acme, hosts: [id.test], paths: [/oauth/token]}";

HostName host(const char* name) { return HostName::parse(name).value(); }

}  // namespace

TEST_CASE("a capture says whose answers hold tokens, which, and where they may go") {
  const Config config = with_grants(
      grant_of("{name: acme, hosts: [id.test], paths: [/oauth/token, \"/apps/*/tokens\"], "
               "fields: [access_token, jwt]}",
               "hosts: [api.test, \"*.api.test\"], at: [\"header:x-token\", basic]"));
  REQUIRE(config.policies.at(0).captures.size() == 1);
  CHECK(config.policies.at(0).grants.empty());
  const Capture& capture = config.policies.at(0).captures.at(0);
  CHECK(capture.name == "acme");
  CHECK(capture.fields == std::vector<std::string>{"access_token", "jwt"});
  CHECK(capture.where == "w.yaml:9");
  CHECK(capture.covers(host("id.test"), "/oauth/token"));
  CHECK(capture.covers(host("id.test"), "/apps/7/tokens"));
  CHECK_FALSE(capture.covers(host("id.test"), "/oauth/other"));
  CHECK_FALSE(capture.covers(host("api.test"), "/oauth/token"));
  REQUIRE(capture.at.size() == 2);
  CHECK(capture.at[0].str() == "header:x-token");
}

TEST_CASE("without `fields` and `at` a capture has the usual ones") {
  const Config config = with_grants(grant_of(kWhole));
  const Capture& capture = config.policies.at(0).captures.at(0);
  CHECK(capture.fields ==
        std::vector<std::string>{std::begin(kTokenFields), std::end(kTokenFields)});
  CHECK(capture.at == default_places());
}

TEST_CASE("where a captured token goes depends on its field") {
  const Config config = with_grants(grant_of(kWhole));
  const Capture& capture = config.policies.at(0).captures.at(0);
  const auto places = [](const Grant& grant) {
    std::string text;
    for (const Place& place : grant.at) text += place.str() + " ";
    return text;
  };
  const auto access = capture.grants_of("access_token");
  REQUIRE(access.size() == 2);
  CHECK(access[0].hosts.at(0).matches(host("api.test")));
  CHECK(access[1].hosts.at(0).matches(host("id.test")));
  CHECK(places(access[1]) ==
        "body:form:access_token body:json:/access_token body:form:token body:json:/token ");
  // What refreshes the others is of no use anywhere but where it came from.
  const auto refresh = capture.grants_of("refresh_token");
  REQUIRE(refresh.size() == 1);
  CHECK(refresh[0].hosts.at(0).matches(host("id.test")));
  CHECK_FALSE(refresh[0].hosts.at(0).matches(host("api.test")));
  CHECK(places(capture.grants_of("token").at(1)) == "body:form:token body:json:/token ");
}

TEST_CASE("a capture prints as it was read, and in the summary") {
  for (const std::string& grants :
       {grant_of(kWhole), grant_of(kWhole, "hosts: [api.test], at: [\"header:x-token\", basic]"),
        grant_of("{name: a-1, hosts: [id.test], paths: [/a, /b/**], fields: [x_y]}") +
            grant_of("{name: b, hosts: [id.test], paths: [/c]}")}) {
    CAPTURE(grants);
    const std::string yaml = to_yaml(with_grants(grants), "t");
    CHECK(to_yaml(parse_config(yaml, "w.yaml"), "t") == yaml);
    CHECK(yaml.find("capture: {name: ") != std::string::npos);
  }
  CHECK(summary(with_grants(grant_of(kWhole, "hosts: [\"*.api.test\"], at: [basic]")))
            .find("grant  what 'acme' captures from id.test /oauth/token (access_token, "
                  "refresh_token, id_token, token) at *.api.test in basic   [w.yaml:9]\n") !=
        std::string::npos);
}

TEST_CASE("a capture that cannot be: where and why") {
  CHECK(problem(grant_of("[acme]")) ==
        "w.yaml:9:19: 'capture' must be a map (key: value), not a list");
  CHECK(problem(grant_of("{}")) == "w.yaml:9:19: capture has no 'name': add it");
  CHECK(problem(grant_of("{name: acme, paths: [/t]}")) ==
        "w.yaml:9:19: capture has no 'hosts': add it");
  CHECK(problem(grant_of("{name: acme, hosts: [id.test]}")) ==
        "w.yaml:9:19: capture has no 'paths': add it");
  CHECK(problem(grant_of("{name: acme, hosts: [id.test], paths: []}")) ==
        "w.yaml:9:57: 'paths' is an empty list: name at least one, or remove the key");
  CHECK(problem(grant_of("{name: acme, hosts: [id.test], paths: [t]}")) ==
        "w.yaml:9:58: paths: \"t\" does not begin with a slash: write \"/t\"");
  CHECK(problem(grant_of("{name: acme, hosts: [\"a b\"], paths: [/t]}")) ==
        "w.yaml:9:40: hosts: \"a b\" has a space or control character in it: write the name alone");
  CHECK(problem(grant_of("{name: \"a.b\", hosts: [id.test], paths: [/t]}")) ==
        "w.yaml:9:26: capture name \"a.b\" may have letters, digits, '-' and '_' only, up to 64");
  CHECK(problem(grant_of("{name: acme, host: [id.test], paths: [/t]}")) ==
        "w.yaml:9:32: unknown key 'host' in capture: did you mean 'hosts'?");
  CHECK(problem(grant_of("{name: acme, hosts: [id.test], paths: [/t], fields: [\"a.b\"]}")) ==
        "w.yaml:9:72: field \"a.b\" may have letters, digits, '-' and '_' only, up to 64: write a "
        "name such as access_token");
  CHECK(problem(grant_of("{name: acme, hosts: [id.test], paths: [/t], fields: []}")) ==
        "w.yaml:9:71: 'fields' is an empty list: name at least one, or remove the key");
  CHECK(problem(grant_of(kWhole, "")) ==
        "w.yaml:9:9: a grant of captured tokens has no 'hosts': add it");
  CHECK(problem(grant_of(kWhole, "hosts: []")) ==
        "w.yaml:9:81: 'hosts' is an empty list: name at least one, or remove the key");
  CHECK(problem(grant_of(kWhole, "hosts: [api.test], at: []")) ==
        "w.yaml:9:97: 'at' is an empty list: name at least one, or remove the key");
  CHECK(problem(grant_of(kWhole, "hosts: [api.test], at: [cookie]")) ==
        "w.yaml:9:98: place \"cookie\" is not one: write header:NAME, basic, query:KEY, path, "
        "body:json:/FIELD, body:form:KEY, body or ws");
  CHECK(problem(grant_of(kWhole, "hosts: [api.test], secret: tok")) ==
        "w.yaml:9:93: unknown key 'secret' in a grant of captured tokens: known are capture, "
        "hosts, at");
  CHECK(problem(grant_of(kWhole, "hosts: [api.test], foreign: pass")) ==
        "w.yaml:9:93: key 'foreign' in a grant of captured tokens is not there yet: remove it");
  CHECK(problem(grant_of(kWhole) + grant_of(kWhole)) ==
        "w.yaml:10:9: capture 'acme' stands twice in this policy (first at w.yaml:9): give one "
        "another name");
  CHECK(
      problem(grant_of(kWhole, "hosts: [raw.test]")) ==
      "w.yaml:9:9: grant of what 'acme' captures at raw.test: only rule 'raw' reaches it, which "
      "inspects nothing, so no placeholder is ever swapped there: remove the host from the grant");
  CHECK(problem(grant_of("{name: acme, hosts: [raw.test], paths: [/t]}")) ==
        "w.yaml:9:9: grant of what 'acme' captures at raw.test: only rule 'raw' reaches it, which "
        "inspects nothing, so no token is ever captured there: remove the host from the grant");
}
