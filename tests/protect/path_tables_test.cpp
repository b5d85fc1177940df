// Which names and contents count as secrets.
#include "protect/path_tables.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"

namespace warder {
namespace {

bool is_secret(std::string_view name, std::string_view bytes = "x") {
  return holds_secret(secret_check(name), bytes);
}

TEST_CASE("secrets are told by their names") {
  for (const char* name :
       {".env", ".env.local", ".env.production", ".ENV", ".netrc", "x.p12", "x.PFX", "x.jks",
        ".git-credentials", "terraform.tfstate", "terraform.tfstate.backup"})
    CHECK(is_secret(name));
  for (const char* name : {".env.example", ".env.sample", ".env.template", ".env.dist",
                           ".environment", "env", "README.md", "x.p12.txt", ".envoy"})
    CHECK_FALSE(is_secret(name));
  CHECK_FALSE(is_secret(".env", ""));
}

TEST_CASE("keys and settings are told by what they hold") {
  CHECK(is_secret("server.key", "-----BEGIN EC PRIVATE KEY-----\n"));
  CHECK(is_secret("id_ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\n"));
  CHECK(is_secret("id_rsa.bak", "-----BEGIN RSA PRIVATE KEY-----\n"));
  CHECK_FALSE(is_secret("ca.pem", "-----BEGIN CERTIFICATE-----\n"));
  CHECK_FALSE(is_secret("id_rsa.pub", "-----BEGIN RSA PRIVATE KEY-----\n"));
  CHECK_FALSE(is_secret("keys.cpp", "-----BEGIN RSA PRIVATE KEY-----\n"));
  CHECK(is_secret("sa-1a2b.json",
                  R"({"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----\n"})"));
  CHECK(is_secret("credentials.json", R"({"installed":{"client_id":"a","client_secret":"b"}})"));
  CHECK_FALSE(is_secret("package.json", R"({"name":"private_key"})"));
  CHECK(is_secret(".npmrc", "//registry.npmjs.org/:_authToken=abc\n"));
  CHECK(is_secret(".npmrc", "# x\n_auth = eDp5\n"));
  CHECK(is_secret(".envrc", "export STRIPE_API_KEY=abc\n"));
  CHECK_FALSE(is_secret(".envrc", "export API_KEY=$(pass api)\nuse flake\n"));
  CHECK_FALSE(
      is_secret(".npmrc", "//registry.npmjs.org/:_authToken=${NPM_TOKEN}\nsave-exact=true\n"));
  CHECK_FALSE(is_secret(".npmrc", "registry=https://registry.npmjs.org/\n#_auth=x\n"));
  CHECK(is_secret(".yarnrc.yml", "npmAuthToken: \"abc\"\n"));
  CHECK(is_secret(".pypirc", "[pypi]\nusername = __token__\npassword = pypi-abc\n"));
  CHECK_FALSE(is_secret(".pypirc", "[pypi]\nusername = me\n"));
}

TEST_CASE("editors' files are writable for --files dev, what CI and git run is not") {
  const auto has = [](FilesProfile profile, std::string_view name) {
    const auto names = protected_names(profile);
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  CHECK(has(FilesProfile::standard, ".vscode"));
  CHECK_FALSE(has(FilesProfile::dev, ".vscode"));
  CHECK(has(FilesProfile::dev, ".github/workflows"));
  CHECK(has(FilesProfile::dev, ".envrc"));
}

}  // namespace
}  // namespace warder
