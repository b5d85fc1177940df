#include "cli/protected_paths.hpp"

#include <algorithm>

#include "cli/make_source.hpp"
#include "cli/state.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

bool is_within(const fs::path& path, const fs::path& tree) {
  const auto [end, ignored] = std::mismatch(tree.begin(), tree.end(), path.begin(), path.end());
  return end == tree.end();
}

// What a sandbox can write would be run outside of it.
void refuse_helper_in(const fs::path& workspace, const SourceConfig::Exec& exec,
                      const std::string& what) {
  const fs::path tree = fs::weakly_canonical(workspace);
  for (const fs::path& file : helper_files(exec)) {
    if (!is_within(file.lexically_normal(), tree) && !is_within(fs::weakly_canonical(file), tree))
      continue;
    throw ConfigError(what + " is told by " + file.string() +
                      ", which lies in the workspace where the sandbox could change it: move it "
                      "elsewhere");
  }
}

// Where the file lies and, if it is a link, where the link does: when that is switched, what it leads to next lies
// beside it more often than not (as Kubernetes has it).
std::vector<fs::path> directories_of(const fs::path& file) {
  constexpr int kMostLinks = 40;  // as Linux has it
  std::vector<fs::path> directories{fs::weakly_canonical(file).parent_path()};
  fs::path at = fs::absolute(file);
  std::error_code ignored;
  for (int links = 0; links < kMostLinks && fs::is_symlink(at, ignored); ++links) {
    directories.push_back(fs::weakly_canonical(at.parent_path()));
    at = at.parent_path() / fs::read_symlink(at, ignored);
  }
  return directories;
}

}  // namespace

// A secret's file that the sandbox could simply read would be no secret: its directory is covered, which a workspace
// itself cannot be.
std::vector<fs::path> covered_directories(const Config& config, const fs::path& workspace,
                                          const fs::path& audit_file) {
  std::vector<fs::path> covered{audit_file.parent_path(), state_directory()};
  // A secret is read again while the sandbox runs, which must not choose what it is then; a key only once.
  enum class Read : bool { once, again };
  const auto cover = [&](const SourceConfig& source, const std::string& what, Read read) {
    if (source.kind == SourceConfig::Kind::exec) refuse_helper_in(workspace, source.exec, what);
    const fs::path file = watched_file(source);
    if (file.empty()) return;
    const fs::path tree = fs::weakly_canonical(workspace);
    const std::vector<fs::path> directories = directories_of(file);
    if (is_within(tree, directories.front())) {
      throw ConfigError(what + ", " + file.string() +
                        ", lies in the workspace where the sandbox would read it: move it into a "
                        "directory of its own");
    }
    for (const fs::path& directory : directories) {
      // In a directory of its own within the workspace it is covered; in the workspace itself it cannot be.
      if (directory == tree && read == Read::again) {
        throw ConfigError(what + ", " + file.string() +
                          ", is reached through a link in the workspace, which the sandbox could "
                          "point elsewhere: name what it leads to");
      }
      const bool known = std::find(covered.begin(), covered.end(), directory) != covered.end();
      // A link beside the workspace cannot be hidden without it; what it leads to is.
      if (!known && !is_within(tree, directory)) covered.push_back(directory);
    }
  };
  for (const SecretConfig& secret : config.secrets)
    cover(secret.source, secret.where + ": the source of secret " + secret.name, Read::again);
  for (const PolicyConfig& policy : config.policies) {
    for (const CertificateGrant& grant : policy.certificates) {
      cover({SourceConfig::Kind::file, "", grant.key},
            grant.where + ": the key of a client certificate", Read::once);
    }
  }
  for (const ListenerConfig& listener : config.gateway.listeners) {
    if (listener.token)
      cover(*listener.token,
            listener.where + ": the source of the token of listener " + listener.name, Read::again);
    if (listener.tls && !listener.tls->name) {
      cover({SourceConfig::Kind::file, "", listener.tls->key},
            listener.where + ": the key of listener " + listener.name, Read::once);
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
  for (const SecretConfig& secret : config.secrets) {
    if (secret.source.kind != SourceConfig::Kind::exec) continue;
    for (fs::path& file : helper_files(secret.source.exec)) files.push_back(std::move(file));
  }
  for (fs::path& file : files) file = fs::absolute(file).lexically_normal();
  return files;
}

void SeenFiles::check(const Config& next) const {
  const auto refuse = [](const fs::path& path) {
    throw ConfigError(path.string() +
                      " would have to be kept from a sandbox that runs already, which takes a new "
                      "run: end it first, or take that out of the configuration");
  };
  for (const fs::path& directory : covered_directories(next, workspace, audit_file)) {
    const auto has_it = [&](const fs::path& one) { return is_within(directory, one); };
    if (std::none_of(covered.begin(), covered.end(), has_it)) refuse(directory);
  }
  for (const fs::path& file : believed_files(next)) {
    if (std::find(frozen.begin(), frozen.end(), file) == frozen.end()) refuse(file);
  }
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
