// The walk over an upper directory, on layers made by hand: what the kernel would write, and what it never would.
#include "cli/clone_changes.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <fstream>
#include <map>

#include "cli/apply_changes.hpp"
#include "cli/clone_names.hpp"
#include "tests/support/catch.hpp"

namespace warder::test {
namespace {

namespace fs = std::filesystem;

struct Layers {
  fs::path root;
  Clone clone;

  Layers() {
    std::string pattern = (fs::temp_directory_path() / "warder-test-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    root = fs::canonical(pattern);
    clone.id = "1";
    clone.directory = root / "clone";
    clone.workspace = root / "ws";
    fs::create_directories(clone.upper());
    fs::create_directories(clone.workspace);
  }
  Layers(const Layers&) = delete;
  Layers& operator=(const Layers&) = delete;
  ~Layers() { fs::remove_all(root); }

  void host(const char* path, const std::string& text = "x") const {
    fs::create_directories((clone.workspace / path).parent_path());
    std::ofstream(clone.workspace / path) << text;
  }
  void inside(const char* path, const std::string& text = "x") const {
    fs::create_directories((clone.upper() / path).parent_path());
    std::ofstream(clone.upper() / path) << text;
  }
  void gone(const char* path) const {
    fs::create_directories((clone.upper() / path).parent_path());
    REQUIRE(::mknod((clone.upper() / path).c_str(), S_IFCHR, 0) == 0);
  }
  void begin() {
    KnownNames::below(clone.workspace).write(clone.names());
    clone.started = {4'000'000'000, 0};  // nothing of the host's is later
  }
  std::map<std::string, std::string> kinds() const {
    std::map<std::string, std::string> found;
    for (const Change& each : changes_of(clone))
      found[each.path.string()] = std::string(to_string(each.kind));
    return found;
  }
};

using Kinds = std::map<std::string, std::string>;

TEST_CASE("what the upper directory holds is compared with the host's tree as it is now") {
  Layers layers;
  layers.host("same");
  layers.host("other", "old");
  layers.host("dir/a");
  layers.host("dir/b");
  layers.host("whole/x/y");
  layers.begin();
  layers.inside("same");
  layers.inside("other", "new");
  layers.inside("dir/new");
  layers.gone("dir/b");
  layers.gone("whole");
  layers.gone("never-there");
  CHECK(layers.kinds() == Kinds{{"other", "modified"},
                                {"dir/new", "added"},
                                {"dir/b", "deleted"},
                                {"whole", "deleted"},
                                {"whole/x", "deleted"},
                                {"whole/x/y", "deleted"}});
}

TEST_CASE("an opaque directory hides what the host has there") {
  Layers layers;
  layers.host("dir/a");
  layers.host("dir/b");
  layers.begin();
  layers.inside("dir/b", "other");
  if (::setxattr((layers.clone.upper() / "dir").c_str(), "user.overlay.opaque", "y", 1, 0) != 0) {
    WARN("skipped: no user attributes here");
    return;
  }
  CHECK(layers.kinds() == Kinds{{"dir/a", "deleted"}, {"dir/b", "modified"}});
}

TEST_CASE("what the host had when the run began and has no more is a conflict") {
  Layers layers;
  layers.host("a", "old");
  layers.begin();
  layers.inside("a", "new");
  layers.inside("b");
  fs::remove(layers.clone.workspace / "a");
  const auto changes = changes_of(layers.clone);
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].host_changed);
  CHECK_FALSE(changes[1].host_changed);
}

TEST_CASE("attack: a tree is never left through a link or dots") {
  Layers layers;
  layers.host("d/x");
  fs::create_directory(layers.root / "outside");
  std::ofstream(layers.root / "outside/x") << "safe";
  fs::create_directory_symlink("../outside", layers.clone.workspace / "out");
  const Tree tree(layers.clone.workspace);
  CHECK_FALSE(tree.entry("out/x"));
  CHECK_THROWS_AS(tree.open_parent("out/x"), TreeError);
  CHECK_THROWS_AS(tree.open_parent("../outside/x"), TreeError);
  CHECK_THROWS_AS(tree.open_file("out/x"), TreeError);
  CHECK_THROWS_AS(tree.names_in("out"), TreeError);
  CHECK_THROWS_AS(tree.change_mode("out", 0), TreeError);
  CHECK_THROWS_AS(tree.change_mode("out/x", 0), TreeError);
}

// One component of a path, the last before the name or an earlier one.
std::string victim_after(const char* changed) {
  Layers layers;
  layers.host(changed, "old");
  layers.begin();
  layers.inside(changed, "new");
  const CloneTrees trees(layers.clone);
  const auto changes = changes_of(layers.clone, trees);
  fs::create_directories(layers.root / "outside/deep");
  const fs::path victim = layers.root / "outside" / fs::path(changed).lexically_relative("d");
  std::ofstream(victim) << "safe";
  fs::rename(layers.clone.workspace / "d", layers.root / "was");
  fs::create_directory_symlink(layers.root / "outside", layers.clone.workspace / "d");
  CHECK_THROWS_AS(apply_changes(trees, "1", changes), TreeError);
  std::string text;
  std::ifstream(victim) >> text;
  return text;
}

TEST_CASE("attack: a host directory that became a link after the plan was made") {
  CHECK(victim_after("d/x") == "safe");
  CHECK(victim_after("d/deep/x") == "safe");
}

TEST_CASE("a tree of any depth can be removed") {
  Layers layers;
  const Fd parent(::open(layers.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  fs::path at = layers.root / "deep";
  for (int i = 0; i < 50; ++i) at /= "d";
  fs::create_directories(at);
  REQUIRE(::chmod(at.parent_path().c_str(), 0) == 0);
  REQUIRE(::chmod((layers.root / "deep/d").c_str(), 0) == 0);
  remove_tree(parent, "deep");
  for (const auto& entry : fs::directory_iterator(layers.root))
    CHECK_FALSE(entry.path().filename().string().starts_with("deep"));
}

}  // namespace
}  // namespace warder::test
