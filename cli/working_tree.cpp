#include "cli/working_tree.hpp"

#include <algorithm>
#include <cstdlib>

#include "cli/clone_store.hpp"
#include "cli/guard.hpp"
#include "cli/sandboxed_run.hpp"
#include "cli/state.hpp"
#include "cli/terminal_text.hpp"
#include "sandbox-launcher/view_paths.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

fs::path caller_home() {
  const char* home = std::getenv("HOME");
  std::error_code error;
  if (home == nullptr || home[0] != '/') return {};
  return tidy(fs::weakly_canonical(home, error));
}

// As it is named, and what that leads to.
std::vector<fs::path> absolute_paths(const std::vector<std::string>& given) {
  std::vector<fs::path> paths;
  for (const std::string& each : given) {
    const fs::path path = tidy(fs::absolute(each));
    std::error_code error;
    const fs::path real = tidy(fs::weakly_canonical(path, error));
    paths.push_back(path);
    if (!error && real != path) paths.push_back(real);
  }
  return paths;
}

std::optional<PackageCache> cache_of(const RunSpec& spec, const std::vector<fs::path>& covered) {
  const WorkingTreeArgs& args = spec.tree;
  const fs::path home = caller_home();
  const bool usual = args.files == FilesProfile::dev && args.cache.empty() && !home.empty();
  if (args.cache.empty() && !usual) return std::nullopt;
  return open_package_cache(usual ? usual_package_cache(home) : fs::path(args.cache),
                            {spec.workspace, spec.read_write, covered, home});
}

GuardRequest guard_request(const RunSpec& spec, const std::vector<fs::path>& covered,
                           const std::vector<fs::path>& believed) {
  return {spec.workspace,
          spec.read_write,
          spec.read_only,
          spec.tree.files,
          absolute_paths(spec.tree.unprotect),
          absolute_paths(spec.tree.show),
          covered,
          believed,
          caller_home()};
}

}  // namespace

WorkingTree::WorkingTree(const RunSpec& spec, const std::vector<fs::path>& covered,
                         const std::vector<fs::path>& believed, const std::string& run,
                         TreeChanges changes)
    : files_(spec.tree.files) {
  for (const std::string& line : take_back_for_killed(state_directory())) say(printable_line(line));
  cache_ = cache_of(spec, covered);
  guard_ = guard_trees(guard_request(spec, covered, believed));
  for (const std::string& note : guard_.notes) {
    if (spec.announce) spec.announce(printable_line(note));
  }
  if (changes == TreeChanges::caught) {
    write_watched(spec.clone, guard_.watched);
    leave_out(tidy(fs::weakly_canonical(spec.workspace)));
  }
  take_back_.emplace(std::move(guard_.watched), state_directory(), run);
}

// What a clone holds is looked at before it is applied: CMD may change all of it.
void WorkingTree::leave_out(const fs::path& workspace) {
  std::erase_if(guard_.protected_paths,
                [&](const fs::path& path) { return within(path, workspace); });
  std::erase_if(guard_.watched,
                [&](const WatchedTree& tree) { return within(tree.root, workspace); });
}

void WorkingTree::set_variables(std::map<std::string, std::string>& env) const {
  if (!cache_) return;
  for (const auto& [name, value] : cache_->variables) env.try_emplace(name, value);
}

void WorkingTree::add_to(SandboxSpec& sandbox) const {
  sandbox.protected_paths = guard_.protected_paths;
  sandbox.masked = guard_.masked;
  sandbox.shown_texts = guard_.shown_texts;
  if (files_ == FilesProfile::strict) {
    sandbox.workspace_access = WorkspaceAccess::read_only;
    sandbox.caller_home = CallerHome::hidden;
  }
  if (!cache_) return;
  sandbox.home_links = cache_->links;
  // Parents come first.
  const auto before = [](const HomeTree& a, const HomeTree& b) { return a.at < b.at; };
  sandbox.home.insert(
      std::lower_bound(sandbox.home.begin(), sandbox.home.end(), cache_->tree, before),
      cache_->tree);
}

void WorkingTree::finish() {
  if (!take_back_) return;
  // Also with --quiet: it may be the user's own file that is somewhere else now.
  for (const std::string& line : take_back_->finish()) say(printable_line(line));
}

}  // namespace warder
