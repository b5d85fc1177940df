#include "protect/take_back.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "protect/beneath.hpp"
#include "protect/git_config.hpp"
#include "protect/held_files.hpp"
#include "protect/path_tables.hpp"
#include "protect/printable.hpp"
#include "sandbox-launcher/view_paths.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLines = 20;
constexpr std::size_t kLargestConfig = 1U << 20;
constexpr std::size_t kLargestGitFile = 4U << 10;
constexpr std::size_t kMostHooks = 1'000;

// What git takes for a path: up to a NUL, with blanks, without the ends of lines.
std::string_view as_git_reads(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

bool is_link(const std::optional<struct stat>& info) { return info && S_ISLNK(info->st_mode); }

class Inspection {
 public:
  Inspection(const WatchedTree& tree, const Fd& root, HeldFiles& held,
             std::vector<std::string>& lines)
      : tree_(tree), root_(root), held_(held), lines_(lines), label_(tree.root.filename()) {
    if (label_.empty()) label_ = "root";
  }

  void run() {
    for (const auto& [at, file] : tree_.masked) check_masked(at, file);
    if (!tree_.writable) return;
    for (const auto& [at, target] : tree_.links) restore_link(at, target);
    for (const fs::path& at : tree_.absent) check_absent(at);
    for (const auto& [at, file] : tree_.present) check_present(at, file);
    TreeFindings found = look_through(root_, tree_.root, LookFor::repositories, tree_.left_out);
    for (const fs::path& at : found.git_files) check_git_file(at);
    for (const fs::path& at : found.repositories) check_repository(at);
    close_again(root_, found);
    if (!found.whole)
      lines_.push_back(printable(tree_.root) +
                       " is too large to be looked through for git repositories that the sandbox "
                       "made: enter none in it that you do not know");
  }

 private:
  bool is_unprotected(const fs::path& at) const {
    const fs::path path = tidy(tree_.root / at);
    return std::any_of(tree_.unprotected.begin(), tree_.unprotected.end(),
                       [&](const fs::path& each) { return within(path, each); });
  }

  bool is_gone_with_parent(const fs::path& at) const {
    return !open_beneath(root_, at.parent_path(), O_PATH | O_DIRECTORY);
  }

  void hold(const fs::path& at, const std::string& why) {
    if (is_unprotected(at)) return;
    const std::string shown = printable(tree_.root / at);
    try {
      const fs::path to = held_.take(root_, at, label_);
      lines_.push_back("taken back from the sandbox: " + shown + ", " + why + ". It is now " +
                       printable(to) +
                       "; to keep it, move it back; to leave it there next time: "
                       "--unprotect " +
                       printable(at));
    } catch (const std::runtime_error& error) {
      lines_.push_back("LOOK AT " + shown + ", " + why +
                       ": it could not be taken back: " + printable(error.what()));
    }
  }

  void restore_link(const fs::path& at, const std::string& target) {
    if (is_unprotected(at) || is_gone_with_parent(at)) return;
    if (link_beneath(root_, at) == target) return;
    if (look_beneath(root_, at)) hold(at, "which was a link to " + printable(target));
    const Fd parent = open_beneath(root_, at.parent_path(), O_PATH | O_DIRECTORY);
    if (!parent || ::symlinkat(target.c_str(), parent.get(), at.filename().c_str()) != 0) return;
    lines_.push_back(printable(tree_.root / at) + " is a link to " + printable(target) + " again");
  }

  // A link that was not there may lead to anything: it counts as what it stands for.
  void check_absent(const fs::path& at) {
    fs::path so_far;
    for (const fs::path& part : at) {
      so_far /= part;
      const auto info = look_beneath(root_, so_far);
      if (!info) return;
      if (is_link(info) && !tree_.links.contains(so_far))
        return hold(so_far, "a link where nothing was, on the way to " + printable(at));
    }
    if (tree_.links.contains(at)) return;
    const std::string name = at.filename();
    const bool of_git = tree_.repositories.contains(at.parent_path());
    if (of_git && name == "hooks") return check_hooks(at);
    if (of_git && (name == "config" || name == "config.worktree"))
      return check_config(at, tree_.allowed);
    hold(at, "which was not there before and which programs outside run or believe");
  }

  void check_present(const fs::path& at, const FileIdentity& file) {
    const auto now = identity_beneath(root_, at);
    if (!now || *now == file || is_unprotected(at)) return;
    const std::string name = at.filename();
    if (tree_.repositories.contains(at.parent_path()) &&
        (name == "config" || name == "config.worktree"))
      check_config(at, tree_.allowed);
    lines_.push_back("LOOK AT " + printable(tree_.root / at) +
                     ": it was replaced outside while the sandbox ran, which could write it from "
                     "then on");
  }

  // What is renamed over a mount point takes the mount along, in every namespace.
  void check_masked(const fs::path& at, const FileIdentity& file) {
    const auto now = identity_beneath(root_, at);
    if (!now || *now == file) return;
    lines_.push_back("LOOK AT " + printable(tree_.root / at) +
                     ": it was replaced outside while the sandbox ran, which could read it from "
                     "then on: change the secrets in it");
  }

  void check_repository(const fs::path& at) {
    if (tree_.repositories.contains(at)) return;
    check_hooks(at / "hooks");
    check_common(at);
    check_config(at / "config", {});
    check_config(at / "config.worktree", {});
  }

  // A linked work tree has its configuration and its hooks two directories up, where nothing need look like a
  // repository.
  void check_common(const fs::path& at) {
    if (!look_beneath(root_, at / "commondir")) return;
    const auto text = read_beneath(root_, at / "commondir", kLargestGitFile);
    const bool linked = at.parent_path().filename() == "worktrees";
    if (!linked || !text || as_git_reads(*text) != "../..")
      return hold(at / "commondir", "which has git read its configuration elsewhere");
    check_repository(at.parent_path().parent_path());
  }

  // git's own examples are harmless: it runs none of that name.
  void check_hooks(const fs::path& at) {
    const auto info = look_beneath(root_, at);
    if (!info) return;
    const Fd directory = open_beneath(root_, at, O_RDONLY | O_DIRECTORY);
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(
        directory ? ::fdopendir(::fcntl(directory.get(), F_DUPFD_CLOEXEC, 0)) : nullptr,
        [](DIR* each) { return each != nullptr ? ::closedir(each) : 0; });
    if (!stream) return hold(at, "where git finds what it runs");
    std::vector<std::string> hooks;
    while (const dirent* entry = ::readdir(stream.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != ".." && !name.ends_with(".sample")) hooks.push_back(name);
      if (hooks.size() > kMostHooks) return hold(at, "where git finds what it runs");
    }
    for (const std::string& name : hooks) hold(at / name, "which git runs outside");
  }

  void check_config(const fs::path& at, const std::set<std::string>& allowed) {
    if (is_unprotected(at) || !look_beneath(root_, at)) return;
    const auto text = read_beneath(root_, at, kLargestConfig);
    if (!text || text->size() == kLargestConfig)
      return hold(at, "a git configuration that cannot be read");
    const auto harmless = without_code(*text, allowed);
    if (!harmless) return;
    hold(at, "a git configuration that names programs to run; one without them is in its place");
    if (look_beneath(root_, at)) return;  // it could not be moved, which was said
    try {
      HeldFiles::put(root_, at, *harmless);
    } catch (const std::runtime_error& error) {
      lines_.push_back(printable(error.what()));
    }
  }

  // "gitdir: ../.git/modules/x": what lies in the tree is looked at where it lies.
  void check_git_file(const fs::path& at) {
    if (tree_.git_files.contains(at) || tree_.links.contains(at)) return;
    if (is_link(look_beneath(root_, at))) return hold(at, "a link where git finds a repository");
    constexpr std::string_view kKey = "gitdir: ";
    const auto text = read_beneath(root_, at, kLargestGitFile);
    if (!text || text->size() == kLargestGitFile) return hold(at, "where git finds a repository");
    if (!text->starts_with(kKey)) return;  // git refuses it
    const fs::path target(as_git_reads(std::string_view(*text).substr(kKey.size())));
    // Not made tidy before it is opened: "link/.." is not what it looks like.
    const fs::path whole = target.is_absolute() ? target : tree_.root / at.parent_path() / target;
    const fs::path relative = whole.lexically_relative(tree_.root);
    if (!within(whole, tree_.root) || !open_beneath(root_, relative, O_PATH | O_DIRECTORY))
      return hold(at, "which has git use a repository elsewhere");
    // Wherever it lies: look_through passes over directories in which nobody would enter a repository.
    const fs::path found = tidy(relative);
    check_repository(found == "." ? fs::path() : found);
  }

  const WatchedTree& tree_;
  const Fd& root_;
  HeldFiles& held_;
  std::vector<std::string>& lines_;
  std::string label_;
};

std::vector<std::string> take_back(const std::vector<WatchedTree>& trees, const fs::path& state,
                                   const std::string& run) {
  HeldFiles held(state / "held" / run);
  std::vector<std::string> lines;
  for (const WatchedTree& tree : trees) {
    const Fd root = open_root(tree.root);
    struct stat info{};
    if (!root || ::fstat(root.get(), &info) != 0 ||
        FileIdentity{info.st_dev, info.st_ino} != tree.identity) {
      lines.push_back(printable(tree.root) +
                      " is another directory than when the sandbox began: look at it before you "
                      "use git, or an editor, in what it was");
      continue;
    }
    Inspection(tree, root, held, lines).run();
  }
  if (lines.size() > kMostLines) {
    // What is still there must not drown in what is gone.
    const auto is_gone = [](const std::string& line) {
      return line.starts_with("taken back from the sandbox: ");
    };
    std::vector<std::string> sorted;
    std::copy_if(lines.begin(), lines.end(), std::back_inserter(sorted), std::not_fn(is_gone));
    std::copy_if(lines.begin(), lines.end(), std::back_inserter(sorted), is_gone);
    lines = std::move(sorted);
    const std::size_t more = lines.size() - kMostLines;
    lines.resize(kMostLines);
    lines.push_back("and " + std::to_string(more) + " more such lines: see " +
                    printable(state / "held" / run));
  }
  return lines;
}

fs::path watched_directory(const fs::path& state) { return state / "watched"; }

// Of all files in it, so that none is taken for abandoned before it is held.
Fd lock_directory(const fs::path& directory) {
  fs::create_directories(directory.parent_path());
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    throw std::runtime_error("cannot make " + directory.string() + ": " +
                             std::generic_category().message(errno));
  Fd lock(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!lock || ::flock(lock.get(), LOCK_EX) != 0)
    throw std::runtime_error("cannot lock " + directory.string() + ": " +
                             std::generic_category().message(errno));
  return lock;
}

}  // namespace

TakeBack::TakeBack(std::vector<WatchedTree> trees, const fs::path& state, std::string run)
    : trees_(std::move(trees)), state_(state), run_(std::move(run)) {
  if (trees_.empty()) return;
  const fs::path directory = watched_directory(state_);
  const Fd all = lock_directory(directory);
  const fs::path file = directory / (run_ + ".json");
  lock_ = Fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  std::string text = to_json(trees_);
  const bool written =
      lock_ && ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 &&
      ::write(lock_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(lock_.get()) == 0;
  if (!written) {
    const std::string why = std::generic_category().message(errno);
    (void)::unlink(file.c_str());
    throw std::runtime_error("cannot write " + file.string() + ": " + why);
  }
  file_ = file;
}

TakeBack::~TakeBack() {
  try {
    (void)finish();
  } catch (const std::exception&) {
    // The file stays: the next run does it, and says so.
  }
}

std::vector<std::string> TakeBack::finish() {
  if (file_.empty()) return {};
  std::vector<std::string> lines = take_back(trees_, state_, run_);
  (void)::unlink(file_.c_str());
  file_.clear();
  lock_.reset();
  return lines;
}

std::vector<std::string> take_back_for_killed(const fs::path& state) {
  const fs::path directory = watched_directory(state);
  std::error_code error;
  if (!fs::is_directory(directory, error)) return {};
  const Fd all = lock_directory(directory);
  std::vector<std::string> lines;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().extension() != ".json") continue;
    const Fd file(::open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) continue;  // it lives
    const std::string run = entry.path().stem();
    try {
      std::ifstream text(entry.path());
      const std::string bytes{std::istreambuf_iterator<char>(text), {}};
      for (const std::string& line : take_back(watched_from_json(bytes), state, run))
        lines.push_back("of run " + run + ", which was killed: " + line);
    } catch (const std::exception& what) {
      lines.push_back("of run " + run +
                      ", which was killed, nothing could be taken back: " + printable(what.what()));
    }
    (void)::unlink(entry.path().c_str());
  }
  return lines;
}

}  // namespace warder
