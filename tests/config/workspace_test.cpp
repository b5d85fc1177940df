// What lies in a workspace: the audit file's place, the pin of its configuration, and the first configuration.
#include <sys/stat.h>

#include <fstream>
#include <regex>

#include "config/audit_place.hpp"
#include "config/git_remote.hpp"
#include "config/load.hpp"
#include "config/starter.hpp"
#include "config/trust_store.hpp"
#include "policy/policy.hpp"
#include "tests/config/contract.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& file, const std::string& text = "") {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

std::string audit_error(const fs::path& workspace, const std::string& audit_file) {
  const Config config =
      parse_config("version: 1\ngateway:\n  audit: {file: \"" + audit_file + "\"}\n",
                   workspace / "conf/warder.yaml");
  try {
    check_audit_place(config, workspace);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

unsigned mode_of(const fs::path& path) {
  struct stat info{};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 0777;
}

bool allows(const Config& config, const char* host, const char* method, const char* path) {
  return Policy("p", config.policies.at(0).rules)
      .authorize({{Scheme::https, HostName::parse(host).value(), 443}, method, path})
      .allows();
}

}  // namespace

TEST_CASE("an audit file at the root of the workspace is an error with its place") {
  const TemporaryDirectory dir;
  const fs::path root = dir.path();
  const std::string at = root.string();
  fs::create_directories(root / "conf");
  fs::create_directories(root / "audit");
  fs::create_symlink(root, root / "conf/link");
  CHECK(audit_error(root, "../audit.jsonl") ==
        at + "/conf/warder.yaml:3:17: audit file \"" + at +
            "/audit.jsonl\" lies at the root of the workspace, where the sandbox could change it: "
            "give it a "
            "directory of its own, such as audit/audit.jsonl");
  CHECK_FALSE(audit_error(root, at + "/audit.jsonl").empty());
  CHECK_FALSE(audit_error(root, at + "/./audit/../audit.jsonl").empty());
  CHECK_FALSE(audit_error(root, "link/audit.jsonl").empty());
  CHECK(audit_error(root, "../audit/audit.jsonl").empty());
  CHECK(audit_error(root, at + "/audit/new/audit.jsonl").empty());
  CHECK(audit_error(root, "/var/log/warder/audit.jsonl").empty());
  CHECK(audit_error(root, "../../audit.jsonl").empty());
  // Covering the configuration's own directory would hide it from the workspace.
  CHECK(audit_error(root, "audit.jsonl").find("the directory of the configuration") !=
        std::string::npos);
  // A link that leads to the root.
  fs::create_symlink(root / "real.jsonl", root / "audit/linked.jsonl");
  put(root / "real.jsonl");
  CHECK_FALSE(audit_error(root, "../audit/linked.jsonl").empty());
  CHECK_NOTHROW(check_audit_place(Config{}, root));
}

TEST_CASE("the digest is SHA-256") {
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("a pin is for these bytes at this path, and for nothing else") {
  const TemporaryDirectory dir;
  const fs::path file = dir.path() / "w/warder.yaml";
  const fs::path other = dir.path() / "v/warder.yaml";
  put(file, "version: 1\n");
  put(other, "version: 1\n");
  const TrustStore store(dir.path() / "state/warder");
  CHECK_FALSE(store.is_trusted(file, "version: 1\n"));
  CHECK_FALSE(fs::exists(dir.path() / "state"));

  store.pin(file, "version: 1\n");
  CHECK(store.is_trusted(file, "version: 1\n"));
  CHECK(store.is_trusted(dir.path() / "w/../w/./warder.yaml", "version: 1\n"));
  CHECK_FALSE(store.is_trusted(file, "version: 1"));
  CHECK_FALSE(store.is_trusted(file, "version: 1\n\n"));
  CHECK_FALSE(store.is_trusted(other, "version: 1\n"));
  CHECK_FALSE(store.is_trusted(dir.path() / "w/none.yaml", "version: 1\n"));
  CHECK(mode_of(store.file()) == 0600);
  CHECK(mode_of(dir.path() / "state/warder") == 0700);

  store.pin(other, "version: 1\n");
  store.pin(file, "changed\n");
  CHECK(store.is_trusted(file, "changed\n"));
  CHECK_FALSE(store.is_trusted(file, "version: 1\n"));
  CHECK(store.is_trusted(other, "version: 1\n"));
  // One line each, and nothing left of the replacing.
  std::ifstream in(store.file());
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK(std::distance(fs::directory_iterator(dir.path() / "state/warder"),
                      fs::directory_iterator()) == 1);
}

TEST_CASE("a store that others could have written trusts nothing") {
  const TemporaryDirectory dir;
  const fs::path file = dir.path() / "warder.yaml";
  put(file, "x");
  const TrustStore store(dir.path() / "state");
  store.pin(file, "x");
  REQUIRE(store.is_trusted(file, "x"));

  for (const mode_t mode : {0620, 0602, 0666}) {
    REQUIRE(::chmod(store.file().c_str(), mode) == 0);
    CHECK_FALSE(store.is_trusted(file, "x"));
    CHECK_THROWS_AS(store.pin(file, "x"), std::runtime_error);
  }
  REQUIRE(::chmod(store.file().c_str(), 0600) == 0);
  CHECK(store.is_trusted(file, "x"));

  fs::rename(store.file(), dir.path() / "elsewhere");
  fs::create_symlink(dir.path() / "elsewhere", store.file());
  CHECK_FALSE(store.is_trusted(file, "x"));
  fs::remove(store.file());
  REQUIRE(::mkfifo(store.file().c_str(), 0600) == 0);
  CHECK_FALSE(store.is_trusted(file, "x"));
}

TEST_CASE("a file's name cannot pin another file") {
  const TemporaryDirectory dir;
  const fs::path evil = dir.path() / ("a\n" + sha256_hex("x") + "  b");
  const fs::path file = dir.path() / "warder.yaml";
  put(evil, "x");
  put(file, "x");
  const TrustStore store(dir.path() / "state");
  CHECK_THROWS_AS(store.pin(evil, "x"), std::runtime_error);
  // A pinned path whose tail is another file's line is no pin for that other file.
  const fs::path tail = dir.path() / "p" / file.relative_path();
  put(tail, "x");
  store.pin(tail, "x");
  CHECK(store.is_trusted(tail, "x"));
  CHECK_FALSE(store.is_trusted(file, "x"));
}

TEST_CASE("the first configuration names what the project needs, and loads") {
  struct Row {
    const char* file;
    std::vector<const char*> hosts;
  };
  const Row table[] = {
      {"package.json", {"registry.npmjs.org"}},
      {"pyproject.toml", {"pypi.org", "files.pythonhosted.org"}},
      {"requirements.txt", {"pypi.org", "files.pythonhosted.org"}},
      {"Cargo.toml", {"crates.io", "index.crates.io", "static.crates.io"}},
      {"go.mod", {"proxy.golang.org", "sum.golang.org"}},
      {"pom.xml", {"repo.maven.apache.org"}},
  };
  for (const Row& row : table) {
    const TemporaryDirectory dir;
    put(dir.path() / row.file);
    const Config config = parse_config(starter_yaml(dir.path()), "warder.yaml");
    for (const char* host : row.hosts) {
      CAPTURE(row.file, host);
      CHECK(allows(config, host, "GET", "/any"));
      CHECK_FALSE(allows(config, host, "PUT", "/any"));
    }
    CHECK_FALSE(allows(config, "github.com", "GET", "/acme/widget"));
  }
  const TemporaryDirectory all;
  for (const Row& row : table) put(all.path() / row.file);
  put(all.path() / ".git/config", "[remote \"origin\"]\n\turl = git@github.com:acme/widget.git\n");
  const Config config = parse_config(starter_yaml(all.path()), "warder.yaml");
  CHECK(allows(config, "registry.npmjs.org", "POST", "/-/npm/v1/security/advisories/bulk"));
  CHECK(allows(config, "github.com", "POST", "/acme/widget.git/git-upload-pack"));
  CHECK(allows(config, "api.github.com", "GET", "/repos/acme/widget/issues"));
  CHECK_FALSE(allows(config, "github.com", "GET", "/acme/other"));
  CHECK_FALSE(allows(config, "api.github.com", "POST", "/repos/acme/widget/issues"));
}

TEST_CASE(
    "the first configuration of an empty directory allows nothing, and its comments load too") {
  const TemporaryDirectory dir;
  const std::string yaml = starter_yaml(dir.path());
  CHECK(parse_config(yaml, "warder.yaml").policies.at(0).rules.empty());
  put(dir.path() / ".git/config", "[remote \"origin\"]\nurl = https://github.com/acme/widget\n");
  // The secret that the comments offer: with the marks taken off it is a configuration.
  std::string with_secret = starter_yaml(dir.path());
  with_secret =
      std::regex_replace(with_secret, std::regex("# (secrets:|  github:|grants:|  - )"), "$1");
  const Config config = parse_config(with_secret, "warder.yaml");
  CHECK(config.secrets.size() == 1);
  CHECK(config.policies.at(0).grants.size() == 1);
}

TEST_CASE("a git remote gives a host and a repository, never a credential") {
  const auto shown = [](const char* url) {
    const auto remote = parse_git_url(url);
    return remote ? remote->host + ' ' + remote->repo : "none";
  };
  CHECK(shown("https://github.com/acme/widget.git") == "github.com acme/widget");
  CHECK(shown("https://me:ghp_theValueItself@GitHub.com/acme/widget") == "github.com acme/widget");
  CHECK(shown("git@gitlab.example.com:group/sub/widget.git") ==
        "gitlab.example.com group/sub/widget");
  CHECK(shown("ssh://git@host.test:2222/acme/widget/") == "host.test acme/widget");
  for (const char* url :
       {"", "/srv/git/x.git", "../x", "file:///x/y", "https://github.com/", "https://github.com",
        "https://github.com/a/../b", "https://github.com/a b", "https://github.com/a\"b",
        "https://github.com/*", "C:/x", "x.test:a\", action: allow}"}) {
    CAPTURE(url);
    if (std::string(url) != "C:/x") CHECK(shown(url) == "none");
  }
  CHECK_FALSE(git_remote("[core]\nurl = https://a.test/x\n").has_value());
  CHECK(
      git_remote(
          "[remote \"up\"]\n url=https://a.test/x\n[remote \"origin\"]\n url = https://b.test/y\n")
          ->host == "b.test");
  CHECK(git_remote("[remote \"up\"]\n url=https://a.test/x\n")->host == "a.test");

  const TemporaryDirectory dir;
  put(dir.path() / ".git/config",
      "[remote \"origin\"]\nurl = https://me:ghp_theValueItself@github.com/acme/widget.git\n");
  CHECK(starter_yaml(dir.path()).find("ghp_") == std::string::npos);
}
