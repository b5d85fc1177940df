#include "config/starter.hpp"

#include <array>
#include <fstream>
#include <string_view>
#include <vector>

#include "config/git_remote.hpp"

namespace warder {
namespace {

constexpr std::size_t kMaxGitConfig = 256 * 1024;

struct Ecosystem {
  std::vector<std::string_view> files;  // any of them means it
  std::string_view rules;
};

// Registries are for downloading: publishing needs a rule of its own.
const std::array<Ecosystem, 6>& ecosystems() {
  static const std::array<Ecosystem, 6> kEcosystems{{
      {{"package.json"},
       "      # npm: packages, and the audit that `npm install` asks for\n"
       "      - {name: npm, hosts: [registry.npmjs.org], ports: [443], methods: [GET, HEAD], "
       "action: allow}\n"
       "      - {name: npm-audit, hosts: [registry.npmjs.org], ports: [443], methods: [POST], "
       "paths: [\"/-/npm/v1/security/**\"], action: allow}\n"},
      {{"pyproject.toml", "requirements.txt", "setup.py", "Pipfile"},
       "      # Python: the index and the files\n"
       "      - {name: pypi, hosts: [pypi.org, files.pythonhosted.org], ports: [443], methods: "
       "[GET, HEAD], "
       "action: allow}\n"},
      {{"Cargo.toml"},
       "      # Rust: the index and the crates\n"
       "      - {name: crates, hosts: [index.crates.io, static.crates.io, crates.io], "
       "ports: [443], methods: [GET, HEAD], action: allow}\n"},
      {{"go.mod"},
       "      # Go: modules and their checksums\n"
       "      - {name: go, hosts: [proxy.golang.org, sum.golang.org], ports: [443], methods: [GET, "
       "HEAD], "
       "action: allow}\n"},
      {{"pom.xml", "build.gradle", "build.gradle.kts"},
       "      # Java: Maven Central and Gradle's plugins\n"
       "      - {name: maven, hosts: [repo.maven.apache.org, repo1.maven.org, plugins.gradle.org, "
       "services.gradle.org], ports: [443], methods: [GET, HEAD], action: allow}\n"},
      {{"Gemfile"},
       "      # Ruby: gems\n"
       "      - {name: gems, hosts: [rubygems.org, index.rubygems.org], ports: [443], methods: "
       "[GET, HEAD], "
       "action: allow}\n"},
  }};
  return kEcosystems;
}

bool has_any(const std::filesystem::path& project, const std::vector<std::string_view>& files) {
  std::error_code error;
  for (const std::string_view file : files) {
    if (std::filesystem::exists(project / file, error)) return true;
  }
  return false;
}

std::string git_config_of(const std::filesystem::path& project) {
  const std::filesystem::path file = project / ".git/config";
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return "";
  std::ifstream in(file, std::ios::binary);
  std::string bytes(kMaxGitConfig, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

std::string git_rules(const GitRemote& remote) {
  const std::string repo = remote.repo;
  std::string out =
      "      # git over HTTPS, this repository only (fetch and push)\n      - {name: git, hosts: "
      "[\"" +
      remote.host + "\"], ports: [443], methods: [GET, POST], paths: [\"/" + repo + "/**\", \"/" +
      repo + ".git/**\"], action: allow}\n";
  if (remote.host == "github.com") {
    out +=
        "      - {name: github-api, hosts: [api.github.com], ports: [443], methods: [GET], paths: "
        "[\"/repos/" +
        repo + "/**\"], action: allow}\n";
  }
  return out;
}

// What a secret for the git host would look like; the file loads without it.
std::string git_secret_comment(const GitRemote& remote) {
  if (remote.host != "github.com") return "";
  return "    # Lets the sandbox use your token without seeing it. Take the marks off here and "
         "above.\n"
         "    # grants:\n"
         "    #   - {secret: github, hosts: [github.com, api.github.com]}\n";
}

}  // namespace

std::string starter_yaml(const std::filesystem::path& project) {
  std::string rules;
  for (const Ecosystem& ecosystem : ecosystems()) {
    if (has_any(project, ecosystem.files)) rules += ecosystem.rules;
  }
  const auto remote = git_remote(git_config_of(project));
  if (remote) rules += git_rules(*remote);

  std::string out =
      "# What a program that `warder run` starts here may reach. Everything else is refused.\n"
      "# After each change: `warder trust`, which shows the rules and pins this file.\n"
      "version: 1\n\n"
      "# A secret is read outside the sandbox; inside, the variable holds a placeholder.\n"
      "# secrets:\n"
      "#   github: {source: {env: GITHUB_TOKEN}}\n\n"
      "policies:\n"
      "  default:\n"
      "    # Any matching deny wins; otherwise the first match; otherwise refused. Without ports: "
      "443 by TLS and\n"
      "    # 80 in clear text. \"*.x.com\" is below x.com, \"**.x.com\" is x.com and below.\n";
  if (rules.empty()) {
    out +=
        "    rules: []\n"
        "    # rules:\n"
        "    #   - {name: api, hosts: [api.example.com], ports: [443], methods: [GET, POST], "
        "paths: "
        "[\"/v1/**\"], action: "
        "allow}\n";
  } else {
    out += "    rules:\n" + rules;
  }
  if (remote) out += git_secret_comment(*remote);
  return out;
}

}  // namespace warder
