// The workspace before and after: what differs, and what stays below the bounds.
#include "cli/file_changes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/support/catch.hpp"

namespace warder::test {
namespace {

namespace fs = std::filesystem;

struct Place {
  Place() {
    char name[] = "/tmp/warder-test-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    root = name;
  }
  ~Place() { fs::remove_all(root); }
  void write(const fs::path& name, const std::string& text) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  }
  fs::path root;
};

std::map<std::string, std::string> by_name(const FileChanges& changes) {
  std::map<std::string, std::string> out;
  for (const auto& each : changes.changes) out[each.path] = each.change;
  return out;
}

}  // namespace

TEST_CASE("created, changed, removed, mode; what is the same is not told") {
  const Place place;
  for (const char* name : {"same", "changed", "removed", "mode", "replaced", "d/inner"})
    place.write(name, "1");
  fs::create_symlink("same", place.root / "link");
  const FileListing before(place.root, {});
  CHECK(by_name(before.changes()).empty());
  place.write("changed", "2");
  place.write("new/file", "");
  place.write("replacement", "1");
  fs::rename(place.root / "replacement", place.root / "replaced");
  fs::remove(place.root / "removed");
  fs::remove(place.root / "link");
  fs::create_symlink("/etc/passwd", place.root / "link");
  ::chmod((place.root / "mode").c_str(), 0700);
  const FileChanges found = before.changes();
  CHECK(by_name(found) == std::map<std::string, std::string>{{"changed", "changed"},
                                                             {"link", "changed"},
                                                             {"mode", "mode"},
                                                             {"new", "created"},
                                                             {"new/file", "created"},
                                                             {"removed", "removed"},
                                                             {"replaced", "changed"}});
  CHECK_FALSE(found.partial);
  CHECK(found.more == 0);
}

TEST_CASE("git's objects are counted, not named; what is left out is not looked at") {
  const Place place;
  place.write(".git/objects/ab/1", "");
  place.write("audit/a.jsonl", "");
  const FileListing before(place.root, {place.root / "audit"});
  place.write(".git/objects/ab/2", "");
  place.write(".git/objects/cd/3", "");
  place.write(".git/HEAD", "");
  place.write("audit/b.jsonl", "");
  const FileChanges found = before.changes();
  CHECK(by_name(found) == std::map<std::string, std::string>{{".git/HEAD", "created"}});
  CHECK(found.git_objects == 2);
}

TEST_CASE("attack: a tree without end is not followed") {
  const Place place;
  const FileListing before(place.root, {});
  fs::create_symlink(".", place.root / "loop");
  fs::path deep = place.root;
  for (unsigned i = 0; i < FileListing::kMostDepth + 5; ++i) deep /= "d";
  fs::create_directories(deep);
  const FileChanges found = before.changes();
  CHECK(found.partial);
  CHECK(by_name(found).contains("loop"));
  CHECK(found.changes.size() == FileListing::kMostDepth + 1);
}

TEST_CASE("more changes than are told one by one are counted") {
  const Place place;
  const FileListing before(place.root, {});
  for (std::size_t i = 0; i < FileListing::kMostChanges + 7; ++i)
    place.write(std::to_string(i), "");
  const FileChanges found = before.changes();
  CHECK(found.changes.size() == FileListing::kMostChanges);
  CHECK(found.more == 7);
}

}  // namespace warder::test
