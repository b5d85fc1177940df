#include "cli/run_clone.hpp"

#include <algorithm>

#include "cli/clone_changes.hpp"
#include "cli/terminal_text.hpp"

namespace warder {
namespace {

std::string line_about(const std::vector<Change>& changes) {
  std::vector<const Change*> later;
  for (const Change& change : changes) {
    if (!change.runs_later.empty()) later.push_back(&change);
  }
  std::string line = count_of(changes) + " changed";
  if (!later.empty()) {
    line += ", " + std::to_string(later.size()) + " for your eyes (" +
            printable(later.front()->path.string()) + (later.size() > 1 ? ", …" : "") + ")";
  }
  return line + ": warder diff, then warder apply or warder discard";
}

std::string word_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::added: return "created";
    case ChangeKind::deleted: return "removed";
    case ChangeKind::mode: return "mode";
    default: return "changed";
  }
}

}  // namespace

RunClone::RunClone(const std::string& run, const std::filesystem::path& workspace,
                   const std::string& program)
    : clone_(make_clone(run, workspace, program)), held_(hold(clone_)) {}

RunClone::~RunClone() { finish({}); }

FileChanges RunClone::changes() const {
  FileChanges found;
  found.cloned = true;
  for (const Change& change : changes_of(clone_)) {
    const std::string path = change.path.string();
    if (path.starts_with(".git/objects/") && change.kind == ChangeKind::added)
      ++found.git_objects;
    else if (found.changes.size() < FileListing::kMostChanges)
      found.changes.push_back({path, word_of(change.kind)});
    else
      ++found.more;
  }
  return found;
}

void RunClone::finish(const std::function<void(const std::string&)>& announce) {
  if (!held_) return;
  const std::optional<Fd> held = std::exchange(held_, std::nullopt);
  try {
    const std::vector<Change> changes = changes_of(clone_);
    if (changes.empty())
      discard(clone_);
    else if (announce)
      announce(line_about(changes));
  } catch (const std::exception& error) {
    if (announce)
      announce("the clone " + clone_.id + " is kept, but cannot be read: " + error.what());
  }
}

}  // namespace warder
