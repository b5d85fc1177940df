#include "sandbox-launcher/view_tools.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "sandbox-launcher/view_paths.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

// Installers that keep programs, and what these need, under one root, and no credentials in it.
constexpr std::array kRoots{".nvm",
                            ".pyenv",
                            ".rbenv",
                            ".nodenv",
                            ".goenv",
                            ".jenv",
                            ".asdf",
                            ".sdkman",
                            ".deno",
                            ".bun",
                            ".volta",
                            ".rustup",
                            ".ghcup",
                            ".juliaup",
                            ".rye",
                            ".krew",
                            ".npm-global",
                            "miniconda3",
                            "anaconda3",
                            "miniforge3",
                            "mambaforge",
                            ".local/share/mise",
                            ".local/share/fnm",
                            ".local/share/pnpm"};

// A directory on PATH, and another one without which its programs do nothing.
struct Companion {
  std::string_view directory;
  std::string_view needs;
};
constexpr std::array kCompanions{Companion{".cargo/bin", ".rustup"},
                                 Companion{".local/bin", ".local/pipx"}};

// Never shown, nor anything in them.
constexpr std::array kCredentials{
    ".ssh",         ".gnupg",       ".aws",     ".azure",
    ".config",      ".docker",      ".kube",    ".netrc",
    ".pki",         ".cert",        ".certs",   ".gcloud",
    ".terraform.d", ".helm",        ".vault",   ".password-store",
    ".mozilla",     ".thunderbird", ".secrets", ".databricks",
    ".oci",         ".snowflake",   ".cache",   ".local/share/keyrings"};
// Credentials lie beside the programs: a directory in them may be shown, they may not.
constexpr std::array kShared{".cargo",    ".gem",   ".m2",          ".gradle",     ".npm",
                             ".composer", ".local", ".local/share", ".local/state"};

constexpr const char* kOwnPrograms = ".local/bin";
constexpr std::size_t kMostPrograms = 2'000;

bool holds_credentials(const fs::path& relative) {
  if (relative.empty()) return true;
  const fs::path first = *relative.begin();
  if (first == "." || first == "..") return true;  // the home itself, or outside of it
  const auto is = [&](const char* name) { return relative == name; };
  if (std::any_of(kShared.begin(), kShared.end(), is)) return true;
  const auto lies_in = [&](const char* name) { return within(relative, name); };
  return std::any_of(kCredentials.begin(), kCredentials.end(), lies_in);
}

// Relative to the home: the root of the tool that `relative` belongs to, else `relative` alone.
fs::path root_of(const fs::path& relative) {
  for (const char* root : kRoots) {
    if (within(relative, root)) return root;
  }
  return relative;
}

class Finder {
 public:
  Finder(fs::path home, const SourceOf& source_of)
      : home_(std::move(home)), source_of_(source_of) {}

  void enter(const fs::path& directory) {
    const fs::path relative = directory.lexically_relative(home_);
    if (!show(root_of(relative))) return;
    for (const Companion& companion : kCompanions) {
      if (relative == companion.directory) show(companion.needs);
    }
    if (relative == kOwnPrograms) follow_programs(directory);
  }

  std::vector<fs::path> found() const {
    std::vector<fs::path> outermost;
    for (const fs::path& each : found_) {
      if (outermost.empty() || !within(each, outermost.back())) outermost.push_back(each);
    }
    return outermost;
  }

 private:
  bool show(const fs::path& relative) {
    if (holds_credentials(relative) || leads_elsewhere(home_ / relative)) return false;
    std::error_code error;
    if (!fs::is_directory(source_of_(home_ / relative), error)) return false;
    found_.insert(home_ / relative);
    return true;
  }

  // ~/bin may be a link to ~/.ssh, or to the home's parent.
  bool leads_elsewhere(const fs::path& path) const {
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (error)
      return false;  // cannot be looked at any more (identity.hpp): it was when it was opened
    const fs::path real_home = fs::weakly_canonical(home_, error);
    if (error || within(real_home, real)) return true;
    return within(real, real_home) && holds_credentials(real.lexically_relative(real_home));
  }

  // Installers put links into ~/.local/bin that lead to ~/.local/share/NAME. Only there: a directory that a sandbox may
  // have written could name what it wants to see next time.
  void follow_programs(const fs::path& directory) {
    std::error_code error;
    std::size_t seen = 0;
    for (fs::directory_iterator entry(source_of_(directory), error), end; !error && entry != end;
         entry.increment(error)) {
      if (++seen > kMostPrograms) return;
      std::error_code not_a_link;
      const fs::path target = fs::read_symlink(entry->path(), not_a_link);
      if (not_a_link) continue;
      const fs::path share = home_ / ".local/share";
      const fs::path absolute = tidy(target.is_absolute() ? target : directory / target);
      if (!below(absolute, share)) continue;
      show(fs::path(".local/share") / *absolute.lexically_relative(share).begin());
    }
  }

  fs::path home_;
  const SourceOf& source_of_;
  std::set<fs::path> found_;
};

}  // namespace

std::vector<fs::path> directories_on(std::string_view search_path) {
  std::vector<fs::path> directories;
  while (!search_path.empty()) {
    const std::size_t end = std::min(search_path.find(':'), search_path.size());
    const fs::path directory = search_path.substr(0, end);
    search_path.remove_prefix(std::min(end + 1, search_path.size()));
    if (!directory.is_absolute()) continue;
    const fs::path clean = tidy(directory);
    if (std::find(directories.begin(), directories.end(), clean) == directories.end()) {
      directories.push_back(clean);
    }
  }
  return directories;
}

std::vector<fs::path> tools_in_home(const fs::path& given_home, std::string_view search_path,
                                    const SourceOf& source_of) {
  const fs::path home = tidy(given_home);
  if (!home.is_absolute() || home == "/") return {};
  Finder finder(home, source_of);
  for (const fs::path& directory : directories_on(search_path)) {
    if (below(directory, home)) finder.enter(directory);
  }
  return finder.found();
}

}  // namespace warder
