// A working tree on a real file system: what is found in it, and what is taken back from it.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "config/config.hpp"
#include "protect/beneath.hpp"
#include "protect/package_cache.hpp"
#include "protect/take_back.hpp"
#include "protect/tree_guard.hpp"
#include "tests/support/catch.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

struct Place {
  fs::path root;
  fs::path work;
  fs::path state;

  Place() {
    std::string pattern = (fs::temp_directory_path() / "warder-test-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    root = fs::canonical(pattern);
    work = root / "work";
    state = root / "state";
    fs::create_directories(work);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }

  void write(const fs::path& at, const std::string& text = "x\n") const {
    fs::create_directories((work / at).parent_path());
    std::ofstream(work / at) << text;
  }
  std::string read(const fs::path& path) const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void repository(const fs::path& at,
                  const std::string& config = "[core]\n\tbare = false\n") const {
    write(at / "HEAD", "ref: refs/heads/main\n");
    fs::create_directories(work / at / "objects");
    fs::create_directories(work / at / "refs");
    write(at / "config", config);
  }
  GuardRequest request() const {
    return {work, {}, {}, FilesProfile::standard, {}, {}, {}, {}, {}};
  }
  TreeGuard guard() const { return guard_trees(request()); }
  // What a run leaves behind, said.
  std::vector<std::string> after(const std::function<void()>& sandbox) const {
    TakeBack take_back(guard().watched, state, "run");
    sandbox();
    return take_back.finish();
  }
  bool protects(const TreeGuard& guard, const fs::path& at) const {
    return std::find(guard.protected_paths.begin(), guard.protected_paths.end(), work / at) !=
           guard.protected_paths.end();
  }
  bool masks(const TreeGuard& guard, const fs::path& at) const {
    return std::find(guard.masked.begin(), guard.masked.end(), work / at) != guard.masked.end();
  }
};

TEST_CASE("what git runs is protected in every repository of a tree") {
  Place place;
  place.repository(".git", "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../shared.inc\n");
  place.write("shared.inc", "[core]\n\tfsmonitor = tools/watch.sh\n");
  place.write("tools/watch.sh");
  place.write(".git/hooks/pre-commit");
  place.write(".githooks/pre-push");
  place.write(".vscode/tasks.json");
  place.repository("deep/er/.git");
  place.repository("bare.git");
  place.repository(".git/modules/sub");
  place.write("node_modules/x/.git/config");
  const TreeGuard guard = place.guard();
  for (const char* at :
       {".git/hooks", ".git/config", ".githooks", "shared.inc", "tools/watch.sh", ".vscode",
        "deep/er/.git/config", "bare.git/config", ".git/modules/sub/config"}) {
    INFO(at);
    CHECK(place.protects(guard, at));
  }
  CHECK_FALSE(place.protects(guard, ".husky"));
  CHECK_FALSE(place.protects(guard, "node_modules/x/.git/config"));
  GuardRequest asked = place.request();
  asked.unprotected = {place.work / ".vscode", place.work / ".git"};
  const TreeGuard less = guard_trees(asked);
  CHECK_FALSE(place.protects(less, ".vscode"));
  CHECK_FALSE(place.protects(less, ".git/hooks"));
  CHECK(place.protects(less, "deep/er/.git/config"));
}

TEST_CASE("attack: a hook cannot be written by another name") {
  Place place;
  place.repository(".git");
  place.write("tools/pre-commit");
  place.write("tools/pre-push");
  place.write("warder.yaml");
  fs::create_directories(place.work / ".git/hooks");
  fs::create_symlink("../../tools/pre-commit", place.work / ".git/hooks/pre-commit");
  fs::create_hard_link(place.work / "tools/pre-push", place.work / ".git/hooks/pre-push");
  fs::create_hard_link(place.work / "warder.yaml", place.work / "other.yaml");
  GuardRequest asked = place.request();
  asked.believed = {place.work / "warder.yaml"};
  const TreeGuard guard = guard_trees(asked);
  for (const char* at : {"tools/pre-commit", "tools/pre-push", "other.yaml"}) {
    INFO(at);
    CHECK(place.protects(guard, at));
  }
}

TEST_CASE("attack: a --rw below what is protected is refused") {
  Place place;
  place.repository(".git");
  place.write(".git/hooks/sub/x");
  GuardRequest asked = place.request();
  asked.read_write = {place.work / ".git/hooks/sub"};
  CHECK_THROWS_AS(guard_trees(asked), ConfigError);
  asked.unprotected = {place.work / ".git/hooks"};
  CHECK_NOTHROW(guard_trees(asked));
}

TEST_CASE("secrets are hidden by every name, and shown when that is asked for") {
  Place place;
  place.write("app/.env", "A=1\n");
  fs::create_directories(place.work / "node_modules/x");
  fs::create_hard_link(place.work / "app/.env", place.work / "node_modules/x/readme");
  place.write("certs/a.key", "-----BEGIN PRIVATE KEY-----\n");
  place.repository(".git", "[remote \"o\"]\n\turl = https://u:passpass@h/x\n");
  const TreeGuard guard = place.guard();
  CHECK(place.masks(guard, "app/.env"));
  CHECK(place.masks(guard, "node_modules/x/readme"));
  CHECK(place.masks(guard, "certs/a.key"));
  CHECK(guard.masked.size() == 3);
  REQUIRE(guard.shown_texts.size() == 1);
  CHECK(guard.shown_texts[0].text.find("passpass") == std::string::npos);
  GuardRequest asked = place.request();
  asked.shown = {place.work / "certs", place.work / ".git/config"};
  const TreeGuard less = guard_trees(asked);
  CHECK_FALSE(place.masks(less, "certs/a.key"));
  CHECK(place.masks(less, "app/.env"));
  CHECK(less.shown_texts.empty());
}

TEST_CASE("attack: a directory dressed as a repository hides nothing") {
  Place place;
  place.repository("");
  place.write("objects/.env", "A=1\n");
  place.write("sub/.env", "A=1\n");
  const TreeGuard guard = place.guard();
  CHECK(place.masks(guard, "objects/.env"));
  CHECK(place.masks(guard, "sub/.env"));
}

TEST_CASE("a bound that is hit is said") {
  Place place;
  place.write("a/b/c/d/.env");
  const Fd root = open_root(place.work);
  WalkBounds bounds;
  bounds.depth = 2;
  CHECK_FALSE(look_through(root, place.work, LookFor::secrets_too, {}, bounds).whole);
  bounds = {};
  bounds.entries = 3;
  CHECK_FALSE(look_through(root, place.work, LookFor::secrets_too, {}, bounds).whole);
  CHECK(look_through(root, place.work, LookFor::secrets_too, {}).whole);
}

TEST_CASE("attack: what was made where nothing was is taken back") {
  Place place;
  place.repository(".git");
  const auto lines = place.after([&] {
    place.write(".git/hooks/post-checkout", "evil\n");
    place.write(".git/hooks/a.sample", "example\n");
    place.write(".git/commondir", "../evil\n");
    place.write(".git/info/attributes", "* filter=x\n");
    place.write(".vscode/tasks.json", "{}\n");
    place.write(".github/workflows/ci.yml", "x\n");
    place.write("src/main.c", "int x;\n");
  });
  CHECK(lines.size() == 5);
  CHECK_FALSE(fs::exists(place.work / ".git/hooks/post-checkout"));
  CHECK(fs::exists(place.work / ".git/hooks/a.sample"));
  CHECK_FALSE(fs::exists(place.work / ".git/commondir"));
  CHECK_FALSE(fs::exists(place.work / ".git/info/attributes"));
  CHECK_FALSE(fs::exists(place.work / ".vscode"));
  CHECK_FALSE(fs::exists(place.work / ".github/workflows"));
  CHECK(fs::exists(place.work / "src/main.c"));
  const fs::path held = place.state / "held/run/work/.git/hooks/post-checkout";
  CHECK(place.read(held) == "evil\n");
  struct stat info{};
  REQUIRE(::stat((place.state / "held/run").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  CHECK(fs::is_empty(place.state / "watched"));
}

TEST_CASE("attack: a repository that the sandbox made keeps only what runs nothing") {
  Place place;
  const auto lines = place.after([&] {
    place.repository(".git", "[core]\n\tbare = false\n\tfsmonitor = ./x\n");
    place.repository("planted", "[alias]\n\tst = !./x\n[user]\n\tname = me\n");
    place.repository("good/.git");
    place.write("good/.git/hooks/pre-commit.sample");
    place.write("linked/.git", "gitdir: /elsewhere\n");
    place.write("odd/.git", "nonsense\n");
  });
  CHECK(lines.size() == 3);
  CHECK(place.read(place.work / ".git/config").find("fsmonitor") == std::string::npos);
  CHECK(place.read(place.work / ".git/config").find("bare = false") != std::string::npos);
  CHECK(place.read(place.work / "planted/config").find("name = me") != std::string::npos);
  CHECK_FALSE(fs::exists(place.work / "linked/.git"));
  CHECK(place.read(place.state / "held/run/work/.git/config").find("fsmonitor") !=
        std::string::npos);
}

TEST_CASE("attack: links that were planted or switched lead nowhere") {
  Place place;
  place.repository(".git");
  place.write("tracked-hooks/pre-commit");
  place.write("evil/pre-commit");
  place.write("outside/keep");
  fs::create_directory_symlink("../tracked-hooks", place.work / ".git/hooks");
  const TreeGuard guard = place.guard();
  CHECK(place.protects(guard, ".git/hooks"));
  CHECK(place.protects(guard, "tracked-hooks"));
  const auto lines = place.after([&] {
    fs::remove(place.work / ".git/hooks");
    fs::create_directory_symlink("../evil", place.work / ".git/hooks");
    fs::create_directory_symlink("outside", place.work / ".github");
    fs::create_directories(place.work / "outside/workflows");
    fs::create_directory_symlink("evil", place.work / "nested.git");
    fs::create_directories(place.work / "deep");
    fs::create_directory_symlink("../.git", place.work / "deep/.git");
  });
  CHECK(fs::read_symlink(place.work / ".git/hooks") == "../tracked-hooks");
  CHECK_FALSE(fs::is_symlink(place.work / ".github"));
  CHECK_FALSE(fs::is_symlink(place.work / "deep/.git"));
  CHECK(fs::exists(place.work / "outside/keep"));
  CHECK(fs::exists(place.work / "evil/pre-commit"));
  CHECK(lines.size() == 4);
}

TEST_CASE("attack: directories closed to their owner are taken back all the same") {
  Place place;
  place.repository(".git");
  const auto lines = place.after([&] {
    place.write(".git/hooks/post-checkout");
    REQUIRE(::chmod((place.work / ".git/hooks").c_str(), 0555) == 0);
    place.write(".vscode/tasks.json");
    REQUIRE(::chmod((place.work / ".vscode").c_str(), 0000) == 0);
    REQUIRE(::chmod((place.work / ".git").c_str(), 0555) == 0);
  });
  CHECK(lines.size() == 2);
  CHECK_FALSE(fs::exists(place.work / ".git/hooks/post-checkout"));
  CHECK_FALSE(fs::exists(place.work / ".vscode"));
}

TEST_CASE("the next run takes back what a killed one left") {
  Place place;
  {
    // As a process that is killed leaves it: the file is there and nobody holds it.
    TakeBack killed(place.guard().watched, place.state, "killed");
    fs::copy(place.state / "watched/killed.json", place.root / "kept.json");
    CHECK(take_back_for_killed(place.state).empty());  // it lives
  }
  fs::copy(place.root / "kept.json", place.state / "watched/killed.json");
  place.write(".vscode/tasks.json", "{}\n");
  const auto lines = take_back_for_killed(place.state);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("of run killed") != std::string::npos);
  CHECK_FALSE(fs::exists(place.work / ".vscode"));
  CHECK(take_back_for_killed(place.state).empty());
}

TEST_CASE("a package cache is made, kept, and refused where it would show too much") {
  Place place;
  const PackageCacheRules rules{place.work, {}, {place.state}, place.root / "home"};
  fs::create_directories(place.root / "home/.ssh");
  const fs::path at = place.root / "home/.cache/warder/packages";
  const PackageCache cache = open_package_cache(at, rules);
  CHECK(cache.tree.source == at);
  CHECK(cache.variables.at("PIP_CACHE_DIR") == "/home/sandbox/.cache/pip");
  struct stat info{};
  REQUIRE(::stat(at.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  CHECK_NOTHROW(open_package_cache(at, rules));
  std::ofstream(place.root / "home/.ssh/id") << "x";
  for (const fs::path& wrong : {place.root / "home", place.root / "home/.ssh", place.work,
                                place.work / "sub", place.state / "sub", place.root}) {
    INFO(wrong);
    CHECK_THROWS_AS(open_package_cache(wrong, rules), ConfigError);
  }
  fs::create_directory_symlink(place.root / "home/.ssh", place.root / "link");
  CHECK_THROWS_AS(open_package_cache(place.root / "link", rules), ConfigError);
}

}  // namespace
}  // namespace warder
