#include "protect/tree_guard.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include "config/config.hpp"
#include "protect/beneath.hpp"
#include "protect/git_config.hpp"
#include "protect/printable.hpp"
#include "sandbox-launcher/view_paths.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestConfig = 1U << 20;
constexpr std::size_t kMostNamed = 3;  // in a note
constexpr std::size_t kMostWords = 16;
constexpr int kMostLinks = 10;
constexpr int kMostIncludes = 10;
constexpr int kDeepestContents = 3;
constexpr std::size_t kMostContents = 5'000;

bool is_in_one_of(const fs::path& path, const std::vector<fs::path>& trees) {
  return std::any_of(trees.begin(), trees.end(),
                     [&](const fs::path& tree) { return within(path, tree); });
}

std::string short_text_of(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error) || fs::file_size(file, error) > kLargestConfig) return {};
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// One tree: what to protect in it, what to hide, and what to compare with at the end.
class Guarding {
 public:
  Guarding(const GuardRequest& request, const std::vector<std::string>& hooks_everywhere,
           const fs::path& path, const Fd& root, TreeGuard& guard)
      : request_(request),
        hooks_everywhere_(hooks_everywhere),
        root_(root),
        guard_(guard),
        found_(look_through(root, path, LookFor::secrets_too, request.covered)) {
    tree_.root = path;
    struct stat info{};
    if (::fstat(root.get(), &info) == 0) tree_.identity = {info.st_dev, info.st_ino};
    tree_.repositories.insert(found_.repositories.begin(), found_.repositories.end());
    tree_.git_files.insert(found_.git_files.begin(), found_.git_files.end());
    tree_.unprotected = request.unprotected;
    tree_.left_out = request.covered;
  }

  void hide_secrets(std::vector<FileIdentity>& linked) {
    for (const fs::path& at : found_.secrets) {
      const fs::path path = tree_.root / at;
      if (is_in_one_of(path, request_.shown)) continue;
      guard_.masked.push_back(path);
      const auto info = look_beneath(root_, at);
      if (const auto file = identity_beneath(root_, at)) tree_.masked[at] = *file;
      if (info && info->st_nlink > 1) linked.push_back({info->st_dev, info->st_ino});
    }
    for (const fs::path& repository : found_.repositories) {
      for (const char* name : {"config", "config.worktree"}) hide_credentials(repository / name);
    }
    if (!found_.whole)
      guard_.notes.push_back(printable(tree_.root) +
                             " is too large to be looked through: secrets that lie deep in it are "
                             "shown, and git repositories there are not protected");
  }

  void protect() {
    protect_names({});
    for (const fs::path& at : found_.git_files) classify(at);
    for (const fs::path& repository : found_.repositories) {
      if (repository.filename() == ".git" && repository.has_parent_path())
        protect_names(repository.parent_path());
      for (const std::string_view name : protected_git_names()) classify(repository / name);
      for (const char* name : {"config", "config.worktree"})
        follow(repository / name, repository, 0);
      for (const std::string& hooks : hooks_everywhere_) {
        if (const auto at = in_tree(hooks, work_tree_of(repository))) classify(*at);
      }
    }
    protect_other_names();
  }

  void watch(bool writable) {
    close_again(root_, found_);
    tree_.writable = writable;
    if (writable || !tree_.masked.empty()) guard_.watched.push_back(std::move(tree_));
  }

 private:
  void protect_names(const fs::path& base) {
    for (const std::string_view name : protected_names(request_.files)) classify(base / name);
  }

  // Writing to the same file by another name changes it all the same.
  void protect_other_names() {
    for (const fs::path& file : request_.believed) {
      struct stat info{};
      if (::stat(file.c_str(), &info) == 0 && info.st_nlink > 1 && S_ISREG(info.st_mode))
        linked_.push_back({info.st_dev, info.st_ino});
    }
    if (linked_.empty()) return;
    const NamesFound found = names_of(root_, linked_);
    for (const fs::path& at : found.names) guard_.protected_paths.push_back(tree_.root / at);
    if (!found.whole)
      guard_.notes.push_back(
          printable(tree_.root) +
          " is too large to be looked through for other names of protected files");
  }

  // Held by a mount where it is there; told at the end where it is not, or is reached through a link.
  void classify(const fs::path& at, int links = 0) {
    const fs::path path = tidy(tree_.root / at);
    if (at.empty() || at == "." || is_in_one_of(path, request_.unprotected)) return;
    fs::path so_far;
    std::optional<struct stat> info;
    for (const fs::path& part : at) {
      so_far /= part;
      info = look_beneath(root_, so_far);
      if (!info) {
        tree_.absent.insert(at);
        return;
      }
      if (!S_ISLNK(info->st_mode)) continue;
      guard_.protected_paths.push_back(path);
      follow_link(at, so_far, links);
      return;
    }
    if (const auto file = identity_beneath(root_, at)) tree_.present[at] = *file;
    guard_.protected_paths.push_back(path);
    if (S_ISDIR(info->st_mode)) {
      follow_contents(at, links, 0);
    } else if (S_ISREG(info->st_mode) && info->st_nlink > 1) {
      linked_.push_back({info->st_dev, info->st_ino});
    }
  }

  // Else a link in .claude to the sources would make them read-only.
  bool leads_to_directory(const fs::path& link) const {
    std::error_code error;
    return fs::is_directory(tree_.root / link, error);
  }

  // A hook is often a link to a file that lies in the work tree, or is that file by another name.
  void follow_contents(const fs::path& directory, int links, int depth) {
    const Fd opened = open_beneath(root_, directory, O_RDONLY | O_DIRECTORY);
    if (!opened || depth > kDeepestContents) return;
    std::error_code error;
    for (fs::directory_iterator entry("/proc/self/fd/" + std::to_string(opened.get()), error), end;
         !error && entry != end; entry.increment(error)) {
      if (++contents_ > kMostContents) return;
      const fs::path at = directory / entry->path().filename();
      const auto info = look_beneath(root_, at);
      if (!info) continue;
      if (S_ISLNK(info->st_mode) && !leads_to_directory(at)) follow_target(at, at, links);
      if (S_ISDIR(info->st_mode)) follow_contents(at, links, depth + 1);
      if (S_ISREG(info->st_mode) && info->st_nlink > 1)
        linked_.push_back({info->st_dev, info->st_ino});
    }
  }

  void follow_link(const fs::path& at, const fs::path& link, int links) {
    if (const auto target = link_beneath(root_, link)) tree_.links[link] = *target;
    follow_target(at, link, links);
  }

  void follow_target(const fs::path& at, const fs::path& link, int links) {
    const auto target = link_beneath(root_, link);
    if (!target) return;
    const fs::path rest = at.lexically_relative(link);
    const fs::path whole = tidy((tree_.root / link).parent_path() / *target / rest);
    if (links < kMostLinks && below(whole, tree_.root))
      classify(whole.lexically_relative(tree_.root), links + 1);
  }

  fs::path work_tree_of(const fs::path& repository) const {
    const auto text = read_beneath(root_, repository / "config", kLargestConfig);
    for (const GitConfigEntry& entry : read_git_config(text.value_or(""))) {
      if (entry.name() == "core.worktree") return tidy(tree_.root / repository / entry.value);
    }
    return tidy(tree_.root /
                (repository.filename() == ".git" ? repository.parent_path() : repository));
  }

  // Where a configuration's word leads to, if that is below the root of the tree.
  std::optional<fs::path> in_tree(const std::string& word, const fs::path& base) const {
    if (word.empty()) return std::nullopt;
    const fs::path path =
        word.starts_with("~/") ? request_.home / word.substr(2) : base / fs::path(word);
    const fs::path whole = tidy(path);
    if (!below(whole, tree_.root)) return std::nullopt;
    return whole.lexically_relative(tree_.root);
  }

  // What the configuration has git run or read is believed as the configuration is.
  void follow(const fs::path& config, const fs::path& repository, int includes) {
    const auto text = read_beneath(root_, config, kLargestConfig);
    if (!text) return;
    for (const GitConfigEntry& entry : read_git_config(*text)) {
      if (!runs_code(entry)) continue;
      tree_.allowed.insert(fingerprint(entry));
      if (entry.section == "include" || entry.section == "includeif") {
        const auto at = in_tree(entry.value, tree_.root / config.parent_path());
        if (!at) continue;
        classify(*at);
        if (includes < kMostIncludes && followed_.insert(*at).second)
          follow(*at, repository, includes + 1);
      } else if (entry.name() == "core.hookspath") {
        if (const auto at = in_tree(entry.value, work_tree_of(repository))) classify(*at);
      } else if (entry.name() != "core.worktree") {
        protect_programs(entry.value, work_tree_of(repository));
      }
    }
  }

  // "!sh ./tools/x.sh": those of its words that are files of the tree.
  void protect_programs(const std::string& command, const fs::path& base) {
    std::istringstream words(command);
    std::string word;
    for (std::size_t n = 0; n < kMostWords && words >> word; ++n) {
      if (word.starts_with('!')) word.erase(0, 1);
      std::erase_if(word, [](char c) { return c == '"' || c == '\''; });
      const auto at = in_tree(word, base);
      const auto info = at ? look_beneath(root_, *at) : std::nullopt;
      if (info && !S_ISDIR(info->st_mode)) classify(*at);
    }
  }

  void hide_credentials(const fs::path& config) {
    const fs::path path = tree_.root / config;
    if (is_in_one_of(path, request_.shown)) return;
    const auto text = read_beneath(root_, config, kLargestConfig);
    auto harmless = text ? without_credentials(*text) : std::nullopt;
    if (!harmless) return;
    guard_.shown_texts.push_back({path, std::move(*harmless)});
    if (const auto file = identity_beneath(root_, config)) tree_.masked[config] = *file;
  }

  const GuardRequest& request_;
  const std::vector<std::string>& hooks_everywhere_;
  const Fd& root_;
  TreeGuard& guard_;
  TreeFindings found_;
  WatchedTree tree_;
  std::vector<FileIdentity> linked_;  // protected files with other names
  std::size_t contents_ = 0;
  std::set<fs::path> followed_;  // files that configurations include
};

// A directory for hooks that the caller's own configuration names, relative to whatever repository it is in.
std::vector<std::string> hooks_of_caller(const fs::path& home) {
  std::vector<std::string> hooks;
  for (const fs::path& file :
       {home / ".gitconfig", home / ".config/git/config", fs::path("/etc/gitconfig")}) {
    if (!file.is_absolute()) continue;
    for (const GitConfigEntry& entry : read_git_config(short_text_of(file))) {
      if (entry.name() == "core.hookspath") hooks.push_back(entry.value);
    }
  }
  return hooks;
}

std::string relative_to(const fs::path& workspace, const fs::path& path) {
  return printable(below(path, workspace) ? path.lexically_relative(workspace) : path);
}

std::string list_of(const std::vector<fs::path>& paths, const fs::path& workspace) {
  std::string out;
  for (std::size_t n = 0; n < std::min(paths.size(), kMostNamed); ++n)
    out += (n == 0 ? "" : ", ") + relative_to(workspace, paths[n]);
  if (paths.size() > kMostNamed)
    out += " and " + std::to_string(paths.size() - kMostNamed) + " more";
  return out;
}

template <class T>
void sort_out(std::vector<T>& each) {
  std::sort(each.begin(), each.end());
  each.erase(std::unique(each.begin(), each.end()), each.end());
}

struct OpenTree {
  fs::path path;
  Fd root;
  bool writable;
};

std::vector<OpenTree> open_trees(const GuardRequest& request) {
  std::vector<OpenTree> trees;
  const auto add = [&](const fs::path& path, bool writable) {
    const auto same = [&](const OpenTree& tree) { return tree.path == path; };
    if (std::any_of(trees.begin(), trees.end(), same)) return;
    Fd root = open_root(path);
    if (!root && errno == ENOTDIR) return;  // a file: it is shown because it was named
    if (!root)
      throw ConfigError(printable(path) + " cannot be looked through for what must be kept from " +
                        "the sandbox: " + std::generic_category().message(errno));
    trees.push_back({path, std::move(root), writable});
  };
  add(tidy(request.workspace), request.files != FilesProfile::strict);
  for (const fs::path& path : request.read_write) add(tidy(path), true);
  for (const fs::path& path : request.read_only) add(tidy(path), false);
  return trees;
}

// The same file by another name would be readable there.
void hide_links(const std::vector<OpenTree>& trees, const std::vector<FileIdentity>& linked,
                const GuardRequest& request, TreeGuard& guard) {
  if (linked.empty()) return;
  for (const OpenTree& tree : trees) {
    const NamesFound found = names_of(tree.root, linked);
    for (const fs::path& at : found.names) {
      if (!is_in_one_of(tree.path / at, request.shown)) guard.masked.push_back(tree.path / at);
    }
    if (!found.whole)
      guard.notes.push_back(printable(tree.path) +
                            " is too large to be looked through for other names of hidden files");
  }
}

void refuse_given_below_protected(const GuardRequest& request, const TreeGuard& guard) {
  for (const fs::path& given : request.read_write) {
    for (const fs::path& path : guard.protected_paths) {
      std::error_code error;
      if (!within(given, path) && !within(given, fs::weakly_canonical(path, error))) continue;
      throw ConfigError("--rw " + printable(given) +
                        " is protected, since programs outside run or believe what stands there: "
                        "say --unprotect " +
                        printable(given) + " instead");
    }
  }
}

}  // namespace

TreeGuard guard_trees(const GuardRequest& request) {
  TreeGuard guard;
  const std::vector<OpenTree> trees = open_trees(request);
  const std::vector<std::string> hooks = hooks_of_caller(request.home);
  std::vector<FileIdentity> linked;
  for (const OpenTree& tree : trees) {
    Guarding guarding(request, hooks, tree.path, tree.root, guard);
    guarding.hide_secrets(linked);
    if (tree.writable) guarding.protect();
    guarding.watch(tree.writable);
  }
  hide_links(trees, linked, request, guard);
  sort_out(guard.protected_paths);
  sort_out(guard.masked);
  refuse_given_below_protected(request, guard);
  if (guard.masked.size() > TreeGuard::kMostMasked) {
    throw ConfigError("the working tree holds " + std::to_string(guard.masked.size()) +
                      " files that look like secrets (" + list_of(guard.masked, request.workspace) +
                      "), and at most " + std::to_string(TreeGuard::kMostMasked) +
                      " can be hidden: start in a subdirectory, or show some: --show PATH");
  }
  if (!guard.masked.empty())
    guard.notes.push_back("empty in the sandbox, since they look like secrets: " +
                          list_of(guard.masked, request.workspace) +
                          "; to show one as it is: --show PATH");
  if (!guard.shown_texts.empty()) {
    std::vector<fs::path> paths;
    for (const ShownText& each : guard.shown_texts) paths.push_back(each.path);
    sort_out(paths);
    guard.notes.push_back("without its credentials in the sandbox: " +
                          list_of(paths, request.workspace) + "; to show it as it is: --show PATH");
  }
  return guard;
}

}  // namespace warder
