#include "cli/apply_command.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "cli/apply_changes.hpp"
#include "cli/guard.hpp"
#include "cli/terminal_text.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLines = 20;

void list(const std::vector<Change>& changes) {
  for (std::size_t i = 0; i < changes.size() && i < kMostLines; ++i) {
    const Change& change = changes[i];
    const std::string why = change.runs_later.empty() ? "" : "  (" + change.runs_later + ")";
    std::fprintf(stderr, "  %s%s\n", printable(change.path.string()).c_str(), why.c_str());
  }
  if (changes.size() > kMostLines)
    std::fprintf(stderr, "  and %zu more: warder diff\n", changes.size() - kMostLines);
}

void say_rest(const ApplyPlan& plan) {
  if (!plan.withheld.empty()) {
    say("kept back, since it runs code later: look at it with warder diff, then warder apply "
        "--include PATH, or --all");
    list(plan.withheld);
  }
  if (!plan.special.empty()) {
    say("never applied (devices, sockets, FIFOs, paths that are too long):");
    list(plan.special);
  }
}

// On disk before the clone, which holds the same, goes.
void make_durable(const Tree& host) {
  const Fd root(::open(host.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root || ::syncfs(root.get()) != 0) throw TreeError("cannot be synced", host.root(), errno);
}

void mark_begun(const Clone& clone) {
  const Fd mark(::open(clone.applying().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!mark) throw TreeError("cannot be made", clone.applying(), errno);
}

int apply(const ApplyArgs& args) {
  const Clone clone = find_clone(args.id, fs::current_path());
  const Fd held = hold(clone);
  const CloneTrees trees(clone);
  Wanted wanted;
  wanted.include.assign(args.include.begin(), args.include.end());
  wanted.force.assign(args.force.begin(), args.force.end());
  wanted.all = args.all;
  const ApplyPlan plan = plan_apply(changes_of(clone, trees), wanted);
  const std::string where = " to " + printable(clone.workspace.string());
  if (!plan.conflicts.empty()) {
    say("nothing was applied: these were changed outside since the run began. Look at both, then "
        "warder apply --force PATH takes the clone's:");
    list(plan.conflicts);
    return 1;
  }
  if (args.dry_run) {
    say("would apply " + count_of(plan.take) + where);
    list(plan.take);
    say_rest(plan);
    return 0;
  }
  mark_begun(clone);
  try {
    apply_changes(trees, clone.id, plan.take);
  } catch (const TreeError&) {
    say("only a part, or nothing, was applied" + where +
        ". The clone is kept: see to what follows, then warder apply takes the rest");
    throw;
  }
  make_durable(trees.host);
  say("applied " + count_of(plan.take) + where);
  say_rest(plan);
  if (plan.withheld.empty())
    discard(clone);
  else
    fs::remove(clone.applying());
  return 0;
}

}  // namespace

int apply_command(const ApplyArgs& args) {
  return guarded([&] { return apply(args); });
}

int discard_command(const DiscardArgs& args) {
  return guarded([&] {
    const Clone clone = find_clone(args.id, fs::current_path());
    const Fd held = hold(clone);
    discard(clone);
    say("discarded " + clone.id + " of " + printable(clone.workspace.string()));
    return 0;
  });
}

}  // namespace warder
