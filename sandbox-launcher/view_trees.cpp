#include "sandbox-launcher/view_trees.hpp"

#include <sys/stat.h>

#include <deque>

#include "sandbox-launcher/launch_error.hpp"
#include "sandbox-launcher/view_paths.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel
constexpr std::size_t kMostEntries = 50'000;
constexpr int kDeepest = 6;

fs::file_type type_of(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type();
}

bool is_there(const fs::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

}  // namespace

void VisibleTrees::add(const Path& path, const Path& source, Access access) {
  const auto [entry, added] = trees_.try_emplace(path, Tree{source, access});
  if (!added && access == Access::read_only) entry->second.access = access;
}

const VisibleTrees::Entry* VisibleTrees::deepest(const Path& path) const {
  const Entry* found = nullptr;
  for (const Entry& tree : trees_) {
    if (within(path, tree.first)) found = &tree;
  }
  return found;
}

const VisibleTrees::Entry* VisibleTrees::outermost_writable(const Path& path) const {
  for (const Entry& tree : trees_) {
    if (tree.second.access == Access::read_write && within(path, tree.first)) return &tree;
  }
  return nullptr;
}

VisibleTrees::Path VisibleTrees::reachable(const Path& path) const {
  const Entry* tree = deepest(path);
  if (tree == nullptr) return path;
  return path == tree->first ? tree->second.source
                             : tree->second.source / path.lexically_relative(tree->first);
}

VisibleTrees::Path VisibleTrees::resolve(const Path& path) const {
  Path resolved = "/";
  const Path clean = tidy(path);
  std::deque<Path> ahead(clean.begin(), clean.end());
  for (int links = 0; !ahead.empty();) {
    const Path next = ahead.front();
    ahead.pop_front();
    if (next == "/" || next == "." || next.empty()) continue;
    if (next == "..") {
      resolved = resolved.parent_path();
      continue;
    }
    std::error_code error;
    const Path target = fs::read_symlink(reachable(resolved / next), error);
    if (error || ++links > kMostLinks) {
      resolved /= next;
      continue;
    }
    if (target.is_absolute()) resolved = "/";
    ahead.insert(ahead.begin(), target.begin(), target.end());
  }
  return resolved;
}

// Renaming a directory takes along what is mounted below it: the sandbox could move a protected directory away and put
// another one in its place, for the host to find. A mount point cannot be renamed.
void VisibleTrees::pin_ancestors(const Path& path) {
  const Entry* outermost = outermost_writable(path);
  if (outermost == nullptr) return;
  for (Path at = path.parent_path(); below(at, outermost->first); at = at.parent_path()) {
    const Entry* tree = deepest(at);
    if (tree->first != at) pins_.try_emplace(at, Tree{reachable(at), tree->second.access});
  }
}

void VisibleTrees::cover(const Path& given) {
  const Path path = resolve(given);
  const bool equal = trees_.contains(path);
  if (!equal && (!sees(path) || !is_there(reachable(path)))) return;
  for (const Entry& tree : trees_) {
    if (!within(tree.first, path)) continue;
    throw LaunchError(path.string() +
                          " holds what the sandbox must not see, and the sandbox is to see " +
                          tree.first.string() + ". Move one of them to a directory of its own",
                      2);
  }
  covered_.insert(path);
  pin_ancestors(path);
}

void VisibleTrees::freeze(const Path& given) {
  const Path path = resolve(given);
  const Entry* tree = deepest(path);
  if (tree == nullptr || outermost_writable(path) == nullptr || !is_there(reachable(path))) return;
  if (tree->first == path && tree->second.access == Access::read_write) {
    throw LaunchError(path.string() +
                          " is Warder's own (its executables or its configuration), and the "
                          "sandbox is to write it. Start "
                          "in another directory, or leave it out of --rw",
                      2);
  }
  add(path, reachable(path), Access::read_only);
  pin_ancestors(path);
}

void VisibleTrees::protect(const Path& given) {
  const Path path = resolve(given);
  const auto tree = trees_.find(path);
  if (tree == trees_.end() || tree->second.access == Access::read_only) freeze(path);
}

// Nothing must be mounted where nothing is: bubblewrap would make it, on the host.
bool VisibleTrees::can_be_replaced(const Path& path) const {
  if (!sees(path) || type_of(reachable(path)) != fs::file_type::regular) return false;
  if (resolve(path) == path) return true;
  throw LaunchError(path.string() +
                        " was moved while the sandbox was made, and it holds what the sandbox must "
                        "not see: start again",
                    2);
}

void VisibleTrees::mask(const Path& path) { show_text(path, {}); }

void VisibleTrees::show_text(const Path& path, std::string text) {
  if (can_be_replaced(path)) texts_.insert_or_assign(path, std::move(text));
}

// Breadth first: a socket that somebody serves lies near the top, and the bounds cut what is deep.
void VisibleTrees::hide_sockets(const Path& path) {
  struct Place {
    Path directory;
    int depth;
  };
  std::deque<Place> ahead{{path, 0}};
  std::size_t seen = 0;
  while (!ahead.empty()) {
    const Place place = ahead.front();
    ahead.pop_front();
    std::error_code error;
    for (fs::directory_iterator entry(reachable(place.directory), error), end;
         !error && entry != end; entry.increment(error)) {
      if (++seen > kMostEntries) return;
      std::error_code ignored;
      if (entry->is_symlink(ignored)) continue;
      const Path inside = place.directory / entry->path().filename();
      if (entry->is_socket(ignored)) sockets_.insert(inside);
      if (place.depth < kDeepest && entry->is_directory(ignored)) {
        ahead.push_back({inside, place.depth + 1});
      }
    }
  }
}

void VisibleTrees::write(ViewBuilder& view) const {
  std::map<Path, Tree> binds = trees_;
  binds.insert(pins_.begin(), pins_.end());
  for (const auto& [path, tree] : binds) {
    // Left to bubblewrap, the parents of a bind are closed to others (0700).
    const Path parent = path.parent_path();
    if (parent != "/" && !sees(parent)) view.directory(parent);
    if (tree.access == Access::read_write) {
      view.bind(tree.source, path);
    } else {
      view.bind_read_only(tree.source, path);
    }
  }
  const Path* last = nullptr;
  for (const Path& path : covered_) {
    if (last != nullptr && within(path, *last)) continue;
    last = &path;
    if (type_of(reachable(path)) == fs::file_type::directory) {
      view.hide_directory(path);
    } else {
      view.hide_file(path);
    }
  }
  const auto is_gone = [&](const Path& path) {
    return std::any_of(covered_.begin(), covered_.end(),
                       [&](const Path& covered) { return within(path, covered); });
  };
  for (const Path& path : sockets_) {
    if (!is_gone(path)) view.hide_file(path);
  }
  for (const auto& [path, text] : texts_) {
    if (!is_gone(path)) view.constant(text, path);
  }
}

}  // namespace warder
