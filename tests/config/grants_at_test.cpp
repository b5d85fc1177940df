#include "config/grants_at.hpp"

#include "config/load.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

const Config& config() {
  static const Config kConfig = parse_config(
      "version: 1\n"
      "secrets: {a: {source: {env: A}}, b: {source: {env: B}}}\n"
      "policies:\n"
      "  t:\n"
      "    rules: [{hosts: [\"**.test\"], action: allow}]\n"
      "    grants:\n"
      "      - {secret: a, hosts: [api.test]}\n"
      "      - {secret: b, hosts: [\"*.test\"], plain_http: true}\n"
      "      - {capture: {name: c, hosts: [login.test], paths: [/token]}, hosts: [api.test]}\n"
      "      - {client_certificate: {certificate: a.pem, key: a.key}, hosts: [api.test]}\n"
      "      - {client_certificate: {certificate: b.pem, key: b.key}, hosts: [\"*.test\"]}\n",
      "/project/warder.yaml");
  return kConfig;
}

GrantsAt at(Scheme scheme, const std::string& host, std::string_view path) {
  return grants_at(config().policies[0],
                   {scheme, HostName::parse(host).value(), default_port(scheme)}, path);
}

}  // namespace

TEST_CASE("what of the grants bears upon a request") {
  const GrantsAt api = at(Scheme::https, "api.test", "/token");
  REQUIRE(api.secrets.size() == 2);
  CHECK(api.secrets[0]->secret == "a");
  CHECK(api.only_by_tls.empty());
  CHECK(api.certificate->where == "warder.yaml:10");
  REQUIRE(api.captured.size() == 1);
  CHECK(api.capture == nullptr);

  const GrantsAt login = at(Scheme::https, "login.test", "/token");
  CHECK(login.capture == &config().policies[0].captures[0]);
  CHECK(login.captured.empty());
  CHECK(login.returned == std::vector<const Capture*>{login.capture});
  CHECK(api.returned.empty());
  CHECK(at(Scheme::https, "login.test", "/other").capture == nullptr);
}

TEST_CASE("in clear text only what says so") {
  const GrantsAt clear = at(Scheme::http, "api.test", "/");
  REQUIRE(clear.secrets.size() == 1);
  CHECK(clear.secrets[0]->secret == "b");
  REQUIRE(clear.only_by_tls.size() == 1);
  CHECK(clear.only_by_tls[0]->secret == "a");
  CHECK(clear.certificate == nullptr);
  CHECK(clear.captured.empty());
  CHECK(at(Scheme::http, "login.test", "/token").returned.empty());
  CHECK(at(Scheme::http, "login.test", "/token").capture != nullptr);
}

TEST_CASE("a host that no grant names has none") {
  const GrantsAt none = at(Scheme::https, "other.example", "/");
  CHECK(none.secrets.empty());
  CHECK(none.certificate == nullptr);
}
