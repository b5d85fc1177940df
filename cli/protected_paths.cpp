#include "cli/protected_paths.hpp"

#include <algorithm>

#include "cli/state.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

bool is_within(const fs::path& path, const fs::path& tree) {
  const auto [end, ignored] = std::mismatch(tree.begin(), tree.end(), path.begin(), path.end());
  return end == tree.end();
}

}  // namespace

// A secret's file that the sandbox could simply read would be no secret: its directory is covered, which a workspace
// itself cannot be.
std::vector<fs::path> covered_directories(const Config& config, const fs::path& workspace,
                                          const fs::path& audit_file) {
  std::vector<fs::path> covered{audit_file.parent_path(), state_directory()};
  const auto cover = [&](const SourceConfig& source, const std::string& what) {
    if (source.kind != SourceConfig::Kind::file) return;
    const fs::path directory = fs::weakly_canonical(source.file).parent_path();
    if (is_within(fs::weakly_canonical(workspace), directory)) {
      throw ConfigError(what + ", " + source.file.string() +
                        ", lies in the workspace where the sandbox would read it: move it into a "
                        "directory of its own");
    }
    covered.push_back(directory);
  };
  for (const SecretConfig& secret : config.secrets)
    cover(secret.source, secret.where + ": the file of secret " + secret.name);
  for (const PolicyConfig& policy : config.policies) {
    for (const CertificateGrant& grant : policy.certificates) {
      cover({SourceConfig::Kind::file, "", grant.key},
            grant.where + ": the key of a client certificate");
    }
  }
  for (const ListenerConfig& listener : config.gateway.listeners) {
    if (listener.token)
      cover(*listener.token, listener.where + ": the token's file of listener " + listener.name);
    if (listener.tls && !listener.tls->name) {
      cover({SourceConfig::Kind::file, "", listener.tls->key},
            listener.where + ": the key of listener " + listener.name);
    }
  }
  return covered;
}

std::vector<fs::path> believed_files(const Config& config) {
  std::vector<fs::path> files = config.gateway.upstream.ca;
  if (!config.file.empty()) files.push_back(config.file);
  for (const PolicyConfig& policy : config.policies) {
    for (const CertificateGrant& grant : policy.certificates) files.push_back(grant.certificate);
  }
  for (fs::path& file : files) file = fs::absolute(file).lexically_normal();
  return files;
}

void refuse_links(const std::vector<fs::path>& files, const std::vector<fs::path>& writable) {
  for (const fs::path& file : files) {
    for (const fs::path& given : writable) {
      const fs::path directory = given.lexically_normal();
      for (fs::path at = file; is_within(at, directory) && at != directory; at = at.parent_path()) {
        if (!fs::is_symlink(at)) continue;
        throw ConfigError(at.string() +
                          " is a link that the sandbox could point elsewhere for the next run: "
                          "name what it leads to");
      }
    }
  }
}

}  // namespace warder
