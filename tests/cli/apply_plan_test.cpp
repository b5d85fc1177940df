// What of a clone's changes is taken, kept back or refused.
#include <algorithm>

#include "cli/apply_changes.hpp"
#include "tests/support/catch.hpp"

namespace warder::test {
namespace {

using Paths = std::vector<std::string>;

Change change(const char* path, ChangeKind kind, EntryType was, EntryType is,
              const char* runs_later = "") {
  Change made;
  made.path = path;
  made.kind = kind;
  made.was = was;
  made.is = is;
  made.runs_later = runs_later;
  return made;
}

Change added(const char* path, const char* runs_later = "") {
  return change(path, ChangeKind::added, EntryType::none, EntryType::file, runs_later);
}

Change directory(const char* path, const char* runs_later = "") {
  return change(path, ChangeKind::added, EntryType::none, EntryType::directory, runs_later);
}

Paths of(const std::vector<Change>& changes) {
  Paths paths;
  for (const Change& each : changes) paths.push_back(each.path.string());
  return paths;
}

TEST_CASE("what runs later is kept back until it is named, with the directories that it needs") {
  const std::vector<Change> changes{added("a"), directory("h", "hook"), added("h/x", "hook"),
                                    added("h/y", "hook")};
  CHECK(of(plan_apply(changes, {}).take) == Paths{"a"});
  CHECK(of(plan_apply(changes, {}).withheld) == Paths{"h", "h/x", "h/y"});
  Wanted one;
  one.include = {"h/x"};
  CHECK(of(plan_apply(changes, one).take) == Paths{"a", "h", "h/x"});
  Wanted whole;
  whole.include = {"./h/"};
  CHECK(plan_apply(changes, whole).withheld.empty());
  Wanted all;
  all.all = true;
  CHECK(plan_apply(changes, all).withheld.empty());
}

TEST_CASE("attack: a name that only begins like an included one is not included") {
  Wanted one;
  one.include = {"h/x"};
  CHECK(of(plan_apply({added("h/x", "hook"), added("h/xy", "hook")}, one).withheld) ==
        Paths{"h/xy"});
}

TEST_CASE("a directory stays while something in it is kept back") {
  const std::vector<Change> changes{
      change("d", ChangeKind::type, EntryType::directory, EntryType::symlink),
      change("d/.envrc", ChangeKind::deleted, EntryType::file, EntryType::none, "shell"),
      change("d/a", ChangeKind::deleted, EntryType::file, EntryType::none)};
  CHECK(of(plan_apply(changes, {}).take) == Paths{"d/a"});
}

TEST_CASE("what the host changed since is a conflict unless it is kept back or forced") {
  std::vector<Change> changes{added("a"), added(".envrc", "shell")};
  for (Change& each : changes) each.host_changed = true;
  CHECK(of(plan_apply(changes, {}).conflicts) == Paths{"a"});
  Wanted forced;
  forced.force = {"a"};
  CHECK(plan_apply(changes, forced).conflicts.empty());
}

TEST_CASE("devices and their like are never taken, and a path must name a change") {
  Change fifo = change("pipe", ChangeKind::special, EntryType::none, EntryType::other);
  Wanted all;
  all.all = true;
  CHECK(of(plan_apply({fifo}, all).special) == Paths{"pipe"});
  CHECK(plan_apply({fifo}, all).take.empty());
  Wanted unknown;
  unknown.include = {"nothing"};
  CHECK_THROWS_AS(plan_apply({added("a")}, unknown), ConfigError);
}

}  // namespace
}  // namespace warder::test
