#include "cli/clone_changes.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cerrno>
#include <tuple>

#include "cli/clone_names.hpp"
#include "sandbox-launcher/runs_later.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

using Stat = struct stat;

constexpr std::size_t kMostManifest = 4U << 20;
constexpr std::size_t kMostGitConfig = 256 * 1024;

EntryType type_of(const std::optional<Stat>& entry) {
  if (!entry) return EntryType::none;
  switch (entry->st_mode & S_IFMT) {
    case S_IFREG: return EntryType::file;
    case S_IFDIR: return EntryType::directory;
    case S_IFLNK: return EntryType::symlink;
    default: return EntryType::other;
  }
}

bool is_whiteout(const Stat& entry) {
  return S_ISCHR(entry.st_mode) && entry.st_rdev == makedev(0, 0);
}

bool not_before(const timespec& time, const timespec& other) {
  return std::tie(time.tv_sec, time.tv_nsec) >= std::tie(other.tv_sec, other.tv_nsec);
}

mode_t permissions(const std::optional<Stat>& entry) {
  return entry && !S_ISLNK(entry->st_mode) ? entry->st_mode & 0777 : 0;
}

std::uint64_t size_of(const std::optional<Stat>& entry) {
  return type_of(entry) == EntryType::file ? static_cast<std::uint64_t>(entry->st_size) : 0;
}

// npm and its like run these on install. Not to be read: somebody means it.
bool scripts_differ(const std::string& one, const std::string& other) {
  const auto scripts = [](const std::string& text, json::value& into) {
    boost::system::error_code failed;
    const json::value manifest = json::parse(text.empty() ? "{}" : text, failed);
    if (failed || !manifest.is_object()) return false;
    if (const json::value* found = manifest.as_object().if_contains("scripts")) into = *found;
    return true;
  };
  json::value before, after;
  return !scripts(one, before) || !scripts(other, after) || before != after;
}

// Directories of the tree that git takes its hooks from instead of .git/hooks (core.hooksPath), by the host's own word.
std::vector<fs::path> hook_directories(const Tree& host) {
  std::vector<fs::path> found;
  const auto entry = host.entry(".git/config");
  if (type_of(entry) != EntryType::file) return found;
  std::string text;
  try {
    text = host.contents(".git/config", kMostGitConfig);
  } catch (const TreeError&) {
    return found;
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    std::string key, value;
    for (const char c : line.substr(0, equals)) {
      if (c != ' ' && c != '\t') key += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    for (const char c : line.substr(equals + 1)) {
      if (c != '"' && c != '\r') value += c;
    }
    if (key != "hookspath") continue;
    value.erase(0, value.find_first_not_of(" \t"));
    value.erase(value.find_last_not_of(" \t") + 1);
    fs::path directory = fs::path(value).lexically_normal();
    if (directory.is_absolute()) directory = directory.lexically_relative(host.root());
    if (!directory.has_filename()) directory = directory.parent_path();
    if (!directory.empty() && directory != "." && *directory.begin() != "..")
      found.push_back(std::move(directory));
  }
  return found;
}

class Scan {
 public:
  Scan(const Clone& clone, const CloneTrees& trees)
      : clone_(clone),
        trees_(trees),
        known_(KnownNames::read(clone.names())),
        applying_(fs::exists(clone.applying())),
        hooks_(hook_directories(trees.host)),
        watched_(watched_places(clone)) {}

  std::vector<Change> all() {
    const auto root = trees_.upper.entry("");
    if (root) (void)trees_.upper.unlock("", root->st_mode);
    ahead_.push_back({"", false, true});
    while (!ahead_.empty()) {
      const Place place = ahead_.back();
      ahead_.pop_back();
      look_into(place);
    }
    std::sort(changes_.begin(), changes_.end(),
              [](const Change& one, const Change& other) { return one.path < other.path; });
    return std::move(changes_);
  }

 private:
  struct Place {
    fs::path directory;
    bool opaque;   // hides what the host has there
    bool on_host;  // the host has a directory there
  };

  void look_into(const Place& place) {
    const std::vector<std::string> names = trees_.upper.names_in(place.directory);
    for (const std::string& name : names) compare(place.directory / name, place.on_host);
    if (!place.opaque || !place.on_host) return;
    for (const std::string& name : trees_.host.names_in(place.directory)) {
      if (!std::binary_search(names.begin(), names.end(), name)) gone(place.directory / name);
    }
  }

  void compare(const fs::path& path, bool parent_on_host) {
    if (!Tree::can_be_named(path)) {
      Change change;
      change.path = path;
      change.kind = ChangeKind::special;
      change.is = EntryType::other;
      changes_.push_back(std::move(change));
      return;
    }
    std::optional<Stat> entry = trees_.upper.entry(path);
    if (!entry) return;
    if (is_whiteout(*entry)) {
      if (parent_on_host) gone(path);
      return;
    }
    const EntryType type = type_of(entry);
    if (type == EntryType::directory || type == EntryType::file)
      entry->st_mode = trees_.upper.unlock(path, entry->st_mode);
    const auto host = parent_on_host ? trees_.host.entry(path) : std::nullopt;
    note(path, *entry, host);
    if (type != EntryType::directory) {
      if (type_of(host) == EntryType::directory && type != EntryType::other) gone_below(path);
      return;
    }
    const bool opaque = trees_.upper.attribute(path, "user.overlay.opaque") == "y";
    ahead_.push_back({path, opaque, type_of(host) == EntryType::directory});
  }

  void note(const fs::path& path, const Stat& entry, const std::optional<Stat>& host) {
    Change change = between(path, entry, host);
    if (change.is == EntryType::other) {
      change.kind = ChangeKind::special;
    } else if (change.was == EntryType::none) {
      change.kind = ChangeKind::added;
      change.host_changed = !applying_ && known_.have(path);
    } else if (change.was != change.is) {
      change.kind = ChangeKind::type;
    } else if (!same(path, change)) {
      change.kind = ChangeKind::modified;
    } else if (change.old_mode != change.new_mode) {
      change.kind = ChangeKind::mode;
    } else {
      return;
    }
    judge(change);
    changes_.push_back(std::move(change));
  }

  Change between(const fs::path& path, const std::optional<Stat>& entry,
                 const std::optional<Stat>& host) const {
    Change change;
    change.path = path;
    change.was = type_of(host);
    change.is = type_of(entry);
    change.old_mode = permissions(host);
    change.new_mode = permissions(entry);
    change.old_size = size_of(host);
    change.new_size = size_of(entry);
    change.set_id = change.is == EntryType::file && (entry->st_mode & (S_ISUID | S_ISGID)) != 0;
    // A directory changes with every name in it: what lies in it is looked at by itself.
    change.host_changed =
        host && !S_ISDIR(host->st_mode) && not_before(host->st_ctim, clone_.started);
    return change;
  }

  bool same(const fs::path& path, const Change& change) const {
    if (change.is == EntryType::symlink)
      return trees_.upper.link_target(path) == trees_.host.link_target(path);
    if (change.is != EntryType::file) return true;
    if (change.old_size != change.new_size) return false;
    const Fd inside = trees_.upper.open_file(path);
    try {
      return same_contents(inside, trees_.host.open_file(path));
    } catch (const TreeError&) {
      return false;  // another's, that we may replace and not read
    }
  }

  void gone(const fs::path& path) {
    const auto host = trees_.host.entry(path);
    if (!host) return;
    Change change = between(path, std::nullopt, host);
    change.kind = ChangeKind::deleted;
    judge(change);
    changes_.push_back(change);
    if (change.was == EntryType::directory) gone_below(path);
  }

  void gone_below(const fs::path& top) {
    std::vector<fs::path> ahead{top};
    while (!ahead.empty()) {
      const fs::path directory = std::move(ahead.back());
      ahead.pop_back();
      for (const std::string& name : trees_.host.names_in(directory)) {
        const fs::path path = directory / name;
        const auto host = trees_.host.entry(path);
        if (!host) continue;
        Change change = between(path, std::nullopt, host);
        change.kind = ChangeKind::deleted;
        judge(change);
        changes_.push_back(std::move(change));
        if (S_ISDIR(host->st_mode)) ahead.push_back(path);
      }
    }
  }

  void judge(Change& change) const {
    const bool directory = change.is == EntryType::directory ||
                           (change.is == EntryType::none && change.was == EntryType::directory);
    change.runs_later = runs_later(change.path, directory);
    if (!change.runs_later.empty()) return;
    const auto holds = [&](const fs::path& hooks) {
      const auto rest =
          std::mismatch(hooks.begin(), hooks.end(), change.path.begin(), change.path.end());
      return rest.first == hooks.end() || (!directory && rest.second == change.path.end());
    };
    if (std::any_of(watched_.begin(), watched_.end(), holds))
      change.runs_later = "protected, and not there before";
    if (std::any_of(hooks_.begin(), hooks_.end(), holds)) change.runs_later = "git hook";
    if (change.path.filename() == "package.json" && changes_scripts(change))
      change.runs_later = "package scripts";
  }

  bool changes_scripts(const Change& change) const {
    if (change.kind == ChangeKind::deleted || change.kind == ChangeKind::mode) return false;
    if (change.is == EntryType::symlink) return true;
    if (change.is != EntryType::file) return false;
    if (change.new_size > kMostManifest || change.old_size > kMostManifest) return true;
    const std::string before = change.was == EntryType::file
                                   ? trees_.host.contents(change.path, kMostManifest)
                                   : std::string();
    return scripts_differ(before, trees_.upper.contents(change.path, kMostManifest));
  }

  const Clone& clone_;
  const CloneTrees& trees_;
  const KnownNames known_;
  const bool applying_;  // what is gone since, an apply that was interrupted may have taken
  const std::vector<fs::path> hooks_;
  const std::vector<fs::path> watched_;
  std::vector<Place> ahead_;
  std::vector<Change> changes_;
};

}  // namespace

std::string_view to_string(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::added: return "added";
    case ChangeKind::modified: return "modified";
    case ChangeKind::deleted: return "deleted";
    case ChangeKind::mode: return "mode";
    case ChangeKind::type: return "type";
    case ChangeKind::special: break;
  }
  return "special";
}

std::string_view to_string(EntryType type) {
  switch (type) {
    case EntryType::none: return "none";
    case EntryType::file: return "file";
    case EntryType::directory: return "directory";
    case EntryType::symlink: return "symlink";
    case EntryType::other: break;
  }
  return "special";
}

std::vector<Change> changes_of(const Clone& clone, const CloneTrees& trees) {
  return Scan(clone, trees).all();
}

std::vector<Change> changes_of(const Clone& clone) { return changes_of(clone, CloneTrees(clone)); }

std::string count_of(const std::vector<Change>& changes) {
  const auto is_directory = [](const Change& change) {
    return change.is == EntryType::directory ||
           (change.is == EntryType::none && change.was == EntryType::directory);
  };
  const auto directories =
      static_cast<std::size_t>(std::count_if(changes.begin(), changes.end(), is_directory));
  const std::size_t files = changes.size() - directories;
  if (files == 0 && directories > 0)
    return std::to_string(directories) + (directories == 1 ? " directory" : " directories");
  return std::to_string(files) + (files == 1 ? " file" : " files");
}

}  // namespace warder
