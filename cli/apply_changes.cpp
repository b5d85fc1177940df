// Three rounds: what goes, what comes, then the modes of directories, which may close them to their owner.
#include "cli/apply_changes.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>

#include "cli/terminal_text.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

fs::path tidied(const fs::path& given) {
  const fs::path normal = given.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

bool names(const std::vector<fs::path>& given, const fs::path& path) {
  return std::any_of(given.begin(), given.end(), [&](const fs::path& each) {
    const fs::path root = tidied(each);
    return std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
  });
}

void check_named(const std::vector<Change>& changes, const std::vector<fs::path>& given,
                 const char* flag) {
  for (const fs::path& each : given) {
    const auto named = [&](const Change& change) { return names({each}, change.path); };
    if (std::none_of(changes.begin(), changes.end(), named))
      throw ConfigError(std::string(flag) + " " + printable(each.string()) +
                        " is no change of this clone: warder diff --name-only lists them");
  }
}

std::set<fs::path> ancestors_of(const std::vector<Change>& changes) {
  std::set<fs::path> ancestors;
  for (const Change& change : changes) {
    for (fs::path at = change.path.parent_path(); !at.empty(); at = at.parent_path())
      ancestors.insert(at);
  }
  return ancestors;
}

class Apply {
 public:
  Apply(const CloneTrees& trees, const std::string& clone_id)
      : trees_(trees), beside_(".warder-apply-" + clone_id) {
    const auto root = trees.host.entry("");
    if (!root) throw TreeError("is gone", trees.host.root(), ENOENT);
    uid_ = root->st_uid;
    gid_ = root->st_gid;
  }

  void all(const std::vector<Change>& changes) {
    for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
      if (change->kind == ChangeKind::deleted) remove(*change);
    }
    for (const Change& change : changes) {
      if (change.kind != ChangeKind::deleted) take(change);
    }
    for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
      if (change->is == EntryType::directory) close(*change);
    }
  }

 private:
  void remove(const Change& change) const {
    const Fd parent = trees_.host.open_parent(change.path);
    const int how = change.was == EntryType::directory ? AT_REMOVEDIR : 0;
    if (::unlinkat(parent.get(), change.path.filename().c_str(), how) != 0 && errno != ENOENT)
      throw TreeError("cannot be removed", change.path, errno);
  }

  void take(const Change& change) {
    const bool turns = change.kind == ChangeKind::type;
    if (turns && (change.was == EntryType::directory || change.is == EntryType::directory))
      remove(change);
    switch (change.is) {
      case EntryType::directory: make_directory(change); break;
      case EntryType::symlink: make_link(change); break;
      case EntryType::file:
        if (change.kind == ChangeKind::mode)
          trees_.host.change_mode(change.path, change.new_mode);
        else
          copy_file(change);
        break;
      default: break;
    }
  }

  void make_directory(const Change& change) const {
    if (change.was == EntryType::directory) {
      trees_.host.change_mode(change.path, special_bits(change.path) | change.new_mode | S_IRWXU);
      return;
    }
    const Fd parent = trees_.host.open_parent(change.path);
    const std::string name = change.path.filename();
    if (::mkdirat(parent.get(), name.c_str(), 0700) != 0)
      throw TreeError("cannot be made", change.path, errno);
    if (::geteuid() == 0 &&
        ::fchownat(parent.get(), name.c_str(), uid_, gid_, AT_SYMLINK_NOFOLLOW) != 0)
      throw TreeError("cannot be given to its owner", change.path, errno);
  }

  // A directory of the host keeps its set-group-ID and sticky bits: they are not the clone's to give or to take.
  mode_t special_bits(const fs::path& path) const {
    const auto entry = trees_.host.entry(path);
    return entry ? entry->st_mode & 07000 : 0;
  }

  void close(const Change& change) const {
    trees_.host.change_mode(change.path, special_bits(change.path) | change.new_mode);
  }

  void make_link(const Change& change) const {
    const Fd parent = trees_.host.open_parent(change.path);
    const std::string target = trees_.upper.link_target(change.path);
    clear(parent);
    if (::symlinkat(target.c_str(), parent.get(), beside_.c_str()) != 0)
      throw TreeError("cannot be made", change.path, errno);
    if (::geteuid() == 0)
      (void)!::fchownat(parent.get(), beside_.c_str(), uid_, gid_, AT_SYMLINK_NOFOLLOW);
    put(parent, change);
  }

  void copy_file(const Change& change) const {
    const Fd from = trees_.upper.open_file(change.path);
    const Fd parent = trees_.host.open_parent(change.path);
    clear(parent);
    const Fd to(::openat(parent.get(), beside_.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!to) throw TreeError("cannot be made", change.path, errno);
    try {
      fill(from, to, change);
    } catch (const TreeError&) {
      clear(parent);  // of a full disk, most of all
      throw;
    }
    put(parent, change);
  }

  void fill(const Fd& from, const Fd& to, const Change& change) const {
    copy(from, to, change.path);
    give_owner(to, change);
    // After the owner: a change of owner takes bits away, this sets exactly these.
    struct stat source{};
    if (::fchmod(to.get(), change.new_mode) != 0 || ::fstat(from.get(), &source) != 0)
      throw TreeError("cannot be given its mode", change.path, errno);
    const timespec times[2] = {source.st_atim, source.st_mtim};
    (void)::futimens(to.get(), times);
  }

  void give_owner(const Fd& file, const Change& change) const {
    if (::geteuid() != 0) return;
    uid_t uid = uid_;
    gid_t gid = gid_;
    if (const auto host = trees_.host.entry(change.path); host && S_ISREG(host->st_mode)) {
      uid = host->st_uid;
      gid = host->st_gid;
    }
    if (::fchown(file.get(), uid, gid) != 0)
      throw TreeError("cannot be given to its owner", change.path, errno);
  }

  static void copy(const Fd& from, const Fd& to, const fs::path& path) {
    std::string piece(std::size_t{1} << 18, '\0');
    for (;;) {
      const ssize_t n = ::read(from.get(), piece.data(), piece.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw TreeError("cannot be read", path, errno);
      if (n == 0) return;
      for (ssize_t done = 0; done < n;) {
        const ssize_t written =
            ::write(to.get(), piece.data() + done, static_cast<std::size_t>(n - done));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) throw TreeError("cannot be written", path, errno);
        done += written;
      }
    }
  }

  // What an apply that was killed left behind.
  void clear(const Fd& parent) const { ::unlinkat(parent.get(), beside_.c_str(), 0); }

  // Where nothing was, what somebody has made since the changes were looked at is not replaced.
  void put(const Fd& parent, const Change& change) const {
    const std::string name = change.path.filename();
    const auto move = [&](unsigned how) {
      return ::renameat2(parent.get(), beside_.c_str(), parent.get(), name.c_str(), how) == 0;
    };
    const bool is_new = change.was == EntryType::none;
    if (move(is_new ? RENAME_NOREPLACE : 0U)) return;
    if (is_new && errno == EINVAL && move(0)) return;  // a file system that cannot tell
    const int error = errno;
    clear(parent);
    throw TreeError("cannot be put in its place", change.path, error);
  }

  const CloneTrees& trees_;
  const std::string beside_;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
};

}  // namespace

ApplyPlan plan_apply(std::vector<Change> changes, const Wanted& wanted) {
  check_named(changes, wanted.include, "--include");
  check_named(changes, wanted.force, "--force");
  // A directory comes with what is named in it.
  std::vector<Change> named;
  std::copy_if(changes.begin(), changes.end(), std::back_inserter(named),
               [&](const Change& change) { return names(wanted.include, change.path); });
  const std::set<fs::path> above_named = ancestors_of(named);

  ApplyPlan plan;
  std::vector<Change> take;
  for (Change& change : changes) {
    const bool runs = !change.runs_later.empty() && !wanted.all;
    const bool is_named = names(wanted.include, change.path) ||
                          (change.is == EntryType::directory && above_named.contains(change.path));
    if (change.kind == ChangeKind::special) {
      plan.special.push_back(std::move(change));
    } else if (runs && !is_named) {
      plan.withheld.push_back(std::move(change));
    } else {
      take.push_back(std::move(change));
    }
  }
  // A directory cannot go while something in it stays.
  const std::set<fs::path> above_kept = ancestors_of(plan.withheld);
  for (Change& change : take) {
    const bool goes = change.was == EntryType::directory && change.is != EntryType::directory;
    if (goes && above_kept.contains(change.path)) {
      plan.withheld.push_back(std::move(change));
      continue;
    }
    if (change.host_changed && !names(wanted.force, change.path)) plan.conflicts.push_back(change);
    plan.take.push_back(std::move(change));
  }
  return plan;
}

void apply_changes(const CloneTrees& trees, const std::string& clone_id,
                   const std::vector<Change>& changes) {
  Apply(trees, clone_id).all(changes);
}

}  // namespace warder
