#include "protect/path_tables.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "secrets/known_token.hpp"

namespace warder {
namespace {

constexpr std::array<std::string_view, 6> kAlways{
    ".github/workflows", ".gitlab-ci.yml",         ".husky", ".envrc",
    ".gitlab-ci.yaml",   ".pre-commit-config.yaml"};
// An editor or an agent outside starts what stands in them.
constexpr std::array<std::string_view, 8> kEditors{
    ".vscode", ".idea", ".claude", ".codex", ".gemini", ".cursor", ".mcp.json", ".devcontainer"};

constexpr std::array<std::string_view, 5> kGit{"hooks", "config", "config.worktree",
                                               "info/attributes", "commondir"};

constexpr std::array<std::string_view, 12> kSkipped{"node_modules",
                                                    ".venv",
                                                    "venv",
                                                    "target",
                                                    "__pycache__",
                                                    ".tox",
                                                    ".nox",
                                                    ".mypy_cache",
                                                    ".ruff_cache",
                                                    ".pytest_cache",
                                                    "bower_components",
                                                    "site-packages"};

constexpr std::array<std::string_view, 5> kNamed{".netrc", "_netrc", ".git-credentials", ".pgpass",
                                                 ".vault-token"};
constexpr std::array<std::string_view, 7> kNamedEndings{
    ".p12", ".pfx", ".jks", ".keystore", ".tfstate", ".tfstate.backup", ".kdbx"};
constexpr std::array<std::string_view, 3> kKeyEndings{".pem", ".key", ".ppk"};
constexpr std::array<std::string_view, 4> kKeyNames{"id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"};
constexpr std::array<std::string_view, 4> kHarmlessEnv{".example", ".sample", ".template", ".dist"};
constexpr std::array<std::string_view, 4> kSettings{".npmrc", ".yarnrc.yml", ".pypirc", ".envrc"};
constexpr std::array<std::string_view, 6> kTokenKeys{"_authtoken",   "_auth",        "_password",
                                                     "npmauthtoken", "npmauthident", "password"};

// "export STRIPE_API_KEY=…" in an .envrc
constexpr std::array<std::string_view, 5> kTokenEndings{"_token", "_secret", "_password", "_key",
                                                        "_passwd"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <class Names>
bool ends_in_one_of(const Names& endings, std::string_view name) {
  const auto fits = [&](std::string_view ending) { return name.ends_with(ending); };
  return std::any_of(endings.begin(), endings.end(), fits);
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\"'";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// "//registry.npmjs.org/:_authToken=npm_…", "npmAuthToken: …", "password = …"; not "…=${NPM_TOKEN}".
bool sets_token(std::string_view line) {
  const std::size_t sign = line.find_last_of("=:");
  for (std::size_t at = line.find_first_of("=:"); at != std::string_view::npos && at <= sign;
       at = line.find_first_of("=:", at + 1)) {
    const std::string left = lower(trim(line.substr(0, at)));
    const std::string key = left.substr(left.find_last_of(":/ \t") + 1);
    const std::string_view value = trim(line.substr(at + 1));
    const bool names_one = is_one_of(kTokenKeys, key) || ends_in_one_of(kTokenEndings, key);
    if (names_one && !value.empty() && !value.starts_with('$')) return true;
  }
  return false;
}

bool holds_setting(std::string_view text) {
  if (holds_known_token(text)) return true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!trim(line).starts_with('#') && !trim(line).starts_with(';') && sets_token(line))
      return true;
  }
  return false;
}

}  // namespace

std::vector<std::string_view> protected_names(FilesProfile profile) {
  std::vector<std::string_view> names(kAlways.begin(), kAlways.end());
  if (profile != FilesProfile::dev) names.insert(names.end(), kEditors.begin(), kEditors.end());
  return names;
}

std::vector<std::string_view> protected_git_names() { return {kGit.begin(), kGit.end()}; }

bool is_skipped_directory(std::string_view name) { return is_one_of(kSkipped, name); }

SecretCheck secret_check(std::string_view file_name) {
  const std::string name = lower(file_name);
  if (is_one_of(kNamed, name) || ends_in_one_of(kNamedEndings, name)) return SecretCheck::not_empty;
  if (name == ".env" || (name.starts_with(".env.") && !ends_in_one_of(kHarmlessEnv, name)))
    return SecretCheck::not_empty;
  if (is_one_of(kSettings, name)) return SecretCheck::token;
  if (name.ends_with(".pub")) return SecretCheck::none;
  const auto begins = [&](std::string_view key) { return name.starts_with(key); };
  if (ends_in_one_of(kKeyEndings, name) || std::any_of(kKeyNames.begin(), kKeyNames.end(), begins))
    return SecretCheck::private_key;
  return name.ends_with(".json") ? SecretCheck::key_in_json : SecretCheck::none;
}

bool holds_secret(SecretCheck check, std::string_view bytes) {
  const auto holds = [&](std::string_view part) {
    return bytes.find(part) != std::string_view::npos;
  };
  switch (check) {
    case SecretCheck::none: return false;
    case SecretCheck::not_empty: return !bytes.empty();
    case SecretCheck::private_key:
      return holds("PRIVATE KEY") || bytes.starts_with("PuTTY-User-Key-File");
    case SecretCheck::key_in_json:
      return (holds("\"private_key\"") && holds("PRIVATE KEY")) ||
             (holds("\"client_secret\"") && holds("\"client_id\"")) ||
             (holds("\"refresh_token\"") && holds("\"client_id\""));
    case SecretCheck::token: return holds_setting(bytes);
  }
  return true;
}

}  // namespace warder
