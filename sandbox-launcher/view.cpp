// The order of a view: what is empty and private first, then the host's trees, then what hides parts of them.
#include "sandbox-launcher/view.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "sandbox-launcher/gitconfig.hpp"
#include "sandbox-launcher/launch_error.hpp"
#include "sandbox-launcher/view_builder.hpp"
#include "sandbox-launcher/view_etc.hpp"
#include "sandbox-launcher/view_paths.hpp"
#include "sandbox-launcher/view_tools.hpp"
#include "sandbox-launcher/view_trees.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

constexpr std::array kSystem{"/usr", "/opt",   "/bin",   "/sbin",
                             "/lib", "/lib32", "/lib64", "/libx32"};
constexpr const char* kSmallestPath = "/usr/local/bin:/usr/bin:/bin";
constexpr std::size_t kLargestGitconfig = 256 * 1024;

fs::path gitconfig_of(const LaunchPlan& plan) { return tidy(plan.caller_home) / ".gitconfig"; }

// --ro and --rw say what is meant, but a view cannot lose the parts that it makes itself.
void check_given(const fs::path& path, const char* option) {
  constexpr std::array kOwn{"/", "/etc", "/proc", "/dev", "/sys"};
  const auto is = [&](const char* own) { return path == own; };
  const auto lies_in = [&](const char* own) { return within(path, own); };
  if (!path.is_absolute() || std::any_of(kOwn.begin(), kOwn.end(), is) || within(kHomePath, path) ||
      std::any_of(kOwn.begin() + 2, kOwn.end(), lies_in)) {
    throw LaunchError(
        std::string(option) + " " + path.string() +
            " would replace a part of the sandbox's own file view. Name a directory in it",
        2);
  }
}

void check_home(const HomeTree& tree) {
  const bool is_plain = !tree.at.empty() && tree.at.is_relative() && tree.at == tidy(tree.at) &&
                        tree.at != "." && *tree.at.begin() != "..";
  if (is_plain && tree.source.is_absolute()) return;
  throw LaunchError(tree.at.string() + " is no place in the sandbox's home", 2);
}

void check_home(const HomeLink& link) {
  check_home(HomeTree{link.at, "/", HomeTree::Access::read_only});
  check_home(HomeTree{link.target, "/", HomeTree::Access::read_only});
}

void check(const LaunchPlan& plan) {
  const std::string refusal = refuse_workspace(plan.spec.workspace, plan.caller_home);
  if (!refusal.empty()) throw LaunchError(refusal, 2);
  for (const fs::path& path : plan.spec.read_only) check_given(tidy(path), "--ro");
  for (const fs::path& path : plan.spec.read_write) check_given(tidy(path), "--rw");
  for (const HomeTree& tree : plan.spec.home) check_home(tree);
  for (const HomeLink& link : plan.spec.home_links) check_home(link);
}

std::vector<fs::path> tools_of(const LaunchPlan& plan, const SourceOf& source_of) {
  if (plan.spec.caller_home == CallerHome::hidden) return {};
  return tools_in_home(plan.caller_home, plan.caller_path, source_of);
}

class ViewMaker {
 public:
  ViewMaker(const LaunchPlan& plan, const SourceOf& source_of, uid_t uid, gid_t gid)
      : plan_(plan), source_of_(source_of), uid_(uid), gid_(gid) {}

  View make() {
    choose_trees();
    protect();
    add_private_places();
    add_etc(builder_, plan_.spec, EtcPlan{.uid = uid_, .gid = gid_, .hidden = covered_in_etc_});
    trees_.write(builder_);
    for (const auto& [at, target] : links_) builder_.symlink(target, at);
    View view = builder_.take();
    view.path = search_path();
    return view;
  }

 private:
  void choose_trees() {
    for (const char* name : kSystem) {
      std::error_code error;
      if (fs::is_symlink(name, error)) {
        links_[name] = fs::read_symlink(name);
      } else if (fs::is_directory(name, error)) {
        trees_.add(name, name, Access::read_only);
      }
    }
    // The given ones before the tools: what the caller names decides how it is seen.
    const bool writable = plan_.spec.workspace_access == WorkspaceAccess::read_write;
    add_given(plan_.spec.workspace, writable ? Access::read_write : Access::read_only);
    for (const fs::path& path : plan_.spec.read_write) add_given(path, Access::read_write);
    for (const fs::path& path : plan_.spec.read_only) add_given(path, Access::read_only);
    add_home();
    for (const fs::path& tool : tools_of(plan_, source_of_)) {
      if (leads_through_given(tool) || takes_cover(tool)) continue;
      tools_.push_back(tool);
    }
    for (const fs::path& tool : tools_) trees_.add(tool, source_of_(tool), Access::read_only);
  }

  // In the private home, which is a directory of the view itself: nothing but its own trees lies there.
  void add_home() {
    for (const HomeTree& tree : plan_.spec.home) {
      const fs::path path = fs::path(kHomePath) / tree.at;
      const Access access =
          tree.access == HomeTree::Access::read_write ? Access::read_write : Access::read_only;
      trees_.add(path, source_of_(tidy(tree.source)), access);
      for (fs::path at = path.parent_path(); at != kHomePath; at = at.parent_path())
        home_directories_.insert(at);
      given_.push_back(path);
    }
    for (const HomeLink& link : plan_.spec.home_links) {
      const fs::path path = fs::path(kHomePath) / link.at;
      links_[path] = fs::path(kHomePath) / link.target;
      for (fs::path at = path.parent_path(); at != kHomePath; at = at.parent_path())
        home_directories_.insert(at);
    }
  }

  // At the real path, which is the one that the host's own programs print; at the given one a link leads there.
  void add_given(const fs::path& given, Access access) {
    const fs::path clean = tidy(given);
    const fs::path path = trees_.resolve(clean);
    const std::string source = source_of_(clean);
    std::error_code error;
    if (!fs::exists(source, error)) {
      throw LaunchError(clean.string() + " cannot be shown to the sandbox: " +
                            (error ? error.message() : std::string("it does not exist")),
                        2);
    }
    check_given(path, access == Access::read_only ? "--ro" : "--rw");
    trees_.add(path, source, access);
    given_.push_back(path);
    if (path != clean && !trees_.sees(clean)) links_[clean] = path;
  }

  // Visible already, or reached by a link in what the sandbox may write: it must not choose what it sees next time.
  bool leads_through_given(const fs::path& tool) const {
    for (fs::path at = tool; at != at.root_path(); at = at.parent_path()) {
      if (trees_.sees(at) || trees_.sees(trees_.resolve(at))) return true;
    }
    return false;
  }

  bool takes_cover(const fs::path& tool) const {
    return std::any_of(
        plan_.spec.covered.begin(), plan_.spec.covered.end(),
        [&](const fs::path& covered) { return within(tool, trees_.resolve(covered)); });
  }

  void protect() {
    if (!plan_.spec.executable_dir.empty()) trees_.freeze(plan_.spec.executable_dir);
    for (const fs::path& file : plan_.spec.frozen) {
      if (!takes_cover(trees_.resolve(file))) trees_.freeze(file);
    }
    for (const fs::path& path : plan_.spec.protected_paths) {
      if (!takes_cover(trees_.resolve(path))) trees_.protect(path);
    }
    for (const fs::path& path : plan_.spec.masked) trees_.mask(path);
    for (const ShownText& shown : plan_.spec.shown_texts) trees_.show_text(shown.path, shown.text);
    for (const fs::path& given : plan_.spec.covered) {
      const fs::path path = trees_.resolve(given);
      if (path == "/etc") {
        throw LaunchError(
            "/etc holds a file that the sandbox must not see. Move it to a directory of its own",
            2);
      }
      if (within(path, "/etc")) covered_in_etc_.insert(path);
      trees_.cover(path);
    }
    for (const fs::path& path : given_) trees_.hide_sockets(path);
  }

  void add_private_places() {
    builder_.option("--proc", "/proc");
    builder_.option("--dev", "/dev");
    builder_.tmpfs("/dev/shm", "1777");
    builder_.remount_read_only("/dev");
    builder_.tmpfs("/tmp", "1777");
    builder_.tmpfs("/run", "0755");
    builder_.directory("/var");
    builder_.tmpfs("/var/tmp", "1777");
    // Named first: bubblewrap gives the parents that it makes the mode of what it makes them for.
    builder_.directory("/home");
    builder_.tmpfs(kHomePath, "0700");
    builder_.initial(sanitised_gitconfig(caller_gitconfig()) + for_protected_config(),
                     fs::path(kHomePath) / ".gitconfig");
    for (const fs::path& directory : home_directories_) builder_.directory(directory);
    link_tools_from_home();
  }

  // Tools look for themselves under $HOME, which is another one inside.
  void link_tools_from_home() {
    const fs::path home = tidy(plan_.caller_home);
    if (home == kHomePath) return;
    for (const fs::path& tool : tools_) {
      builder_.symlink(tool, fs::path(kHomePath) / tool.lexically_relative(home));
    }
  }

  // A new branch would note in a configuration that cannot be written what it follows, and fail.
  std::string for_protected_config() const {
    const auto is_config = [](const fs::path& path) {
      return path.filename() == "config" && path.parent_path().filename() == ".git";
    };
    const auto& paths = plan_.spec.protected_paths;
    return std::any_of(paths.begin(), paths.end(), is_config)
               ? "[branch]\n\tautoSetupMerge = false\n"
               : "";
  }

  std::string caller_gitconfig() const {
    if (plan_.caller_home.empty() || plan_.spec.caller_home == CallerHome::hidden) return {};
    std::ifstream file(source_of_(gitconfig_of(plan_)));
    std::string text;
    for (char c = 0; text.size() < kLargestGitconfig && file.get(c);) text += c;
    return text;
  }

  std::string search_path() const {
    std::string joined;
    for (const fs::path& directory : directories_on(plan_.caller_path)) {
      const fs::path real = trees_.resolve(directory);
      std::error_code error;
      if (!trees_.sees(real) || !fs::is_directory(trees_.reachable(real), error)) continue;
      const fs::path inside =
          trees_.sees(directory) || links_.contains(directory) ? directory : real;
      if (!joined.empty()) joined += ':';
      joined += inside;
    }
    return joined.empty() ? kSmallestPath : joined;
  }

  const LaunchPlan& plan_;
  const SourceOf& source_of_;
  uid_t uid_;
  gid_t gid_;
  ViewBuilder builder_;
  VisibleTrees trees_;
  std::map<fs::path, fs::path> links_;  // at → target
  std::vector<fs::path> given_;
  std::vector<fs::path> tools_;
  std::set<fs::path> home_directories_;
  std::set<fs::path> covered_in_etc_;
};

}  // namespace

std::vector<fs::path> bind_sources(const LaunchPlan& plan) {
  check(plan);
  std::set<fs::path> sources{tidy(plan.spec.workspace)};
  for (const fs::path& path : plan.spec.read_only) sources.insert(tidy(path));
  for (const fs::path& path : plan.spec.read_write) sources.insert(tidy(path));
  for (const HomeTree& tree : plan.spec.home) sources.insert(tidy(tree.source));
  const auto as_it_is = [](const fs::path& path) { return path.string(); };
  for (const fs::path& tool : tools_of(plan, as_it_is)) sources.insert(tool);
  if (!plan.spec.clone.empty()) sources.insert(tidy(plan.spec.clone));
  // Read for its two lines, never bound.
  std::error_code error;
  if (!plan.caller_home.empty() && plan.spec.caller_home == CallerHome::tools &&
      fs::is_regular_file(gitconfig_of(plan), error)) {
    sources.insert(gitconfig_of(plan));
  }
  return {sources.begin(), sources.end()};
}

View make_view(const LaunchPlan& plan, const SourceOf& source_of, uid_t uid, gid_t gid) {
  check(plan);
  return ViewMaker(plan, source_of, uid, gid).make();
}

}  // namespace warder
