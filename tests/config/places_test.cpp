// Grants that name places beyond header fields, and what they say of foreign credentials.
#include "config/load.hpp"
#include "config/summary.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {
const std::string kBefore =
    "version: 1\n"
    "secrets:\n  tok: {source: {env: REAL_TOKEN}, placeholder: {env: API_TOKEN}}\n"
    "policies:\n  t:\n"
    "    rules: [{hosts: [a.test], action: allow}]\n"
    "    grants:\n      - ";
}  // namespace

TEST_CASE("every place of a grant is read, shown, and written down again") {
  const Config config = parse_config(
      kBefore +
          "{secret: tok, hosts: [a.test], at: [\"header:X-Key\", basic, \"query:api key\", path, "
          "\"body:json:/a/0/b~1c\", \"body:form:k[]\", body, ws], foreign: strip, plain_http: "
          "true, "
          "max: 3}\n",
      "/project/warder.yaml");
  const Grant& grant = config.policies.at(0).grants.at(0);
  using Kind = Place::Kind;
  CHECK(grant.at == std::vector<Place>{{Kind::header, "x-key"},
                                       {Kind::basic, ""},
                                       {Kind::query, "api key"},
                                       {Kind::path, ""},
                                       {Kind::body_json, "/a/0/b~1c"},
                                       {Kind::body_form, "k[]"},
                                       {Kind::body, ""},
                                       {Kind::ws, ""}});
  CHECK(grant.foreign == Grant::Foreign::strip);
  CHECK(grant.plain_http);
  CHECK(grant.max == 3);

  const std::string shown = summary(config);
  CHECK(shown.find("in header:x-key, basic, query:api key, path, body:json:/a/0/b~1c, "
                   "body:form:k[], body, ws · up to 3 times in a request · a foreign credential "
                   "is taken off   [warder.yaml:8]\n         WARNING: also in clear text") !=
        std::string::npos);

  const std::string yaml = to_yaml(config, "t");
  const Config read_again = parse_config(yaml, "/w.yaml");
  const Grant& again = read_again.policies.at(0).grants.at(0);
  CHECK(again.at == grant.at);
  CHECK(again.foreign == grant.foreign);
  CHECK(again.plain_http);
  CHECK(again.max == 3);
  CHECK(to_yaml(parse_config(yaml, "/w.yaml"), "t") == yaml);
}

TEST_CASE("a grant that says nothing of them is as narrow as it can be") {
  const Config config =
      parse_config(kBefore + "{secret: tok, hosts: [a.test]}\n", "/project/warder.yaml");
  const Grant& grant = config.policies.at(0).grants.at(0);
  CHECK(grant.at == default_places());
  CHECK(grant.foreign == Grant::Foreign::refuse);
  CHECK_FALSE(grant.plain_http);
  CHECK(grant.max == 1);
  CHECK(to_yaml(config, "t").find("foreign") == std::string::npos);
}
