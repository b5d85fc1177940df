// Where control groups are found, what the inside is told, and what a directory holds.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>

#include "sandbox-launcher/bounds_watch.hpp"
#include "sandbox-launcher/control_group.hpp"
#include "sandbox-launcher/tree_usage.hpp"

namespace warder {
namespace {

constexpr const char* kVersion1 =
    "36 31 0:30 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
    "37 31 0:31 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n"
    "38 31 0:32 / /sys/fs/cgroup/unified rw shared:11 - cgroup2 cgroup2 rw\n";

}  // namespace

TEST_CASE("a controller's own group is found in both versions, and in a container", "[bounds]") {
  const std::string own = "4:memory:/a/b\n2:cpu,cpuacct:/\n0::/user.slice/x.scope\n";
  const auto memory = group_place("memory", own, kVersion1);
  REQUIRE(memory);
  CHECK((memory->version == 1 && memory->own == "/sys/fs/cgroup/memory/a/b"));
  const auto cpu = group_place("cpu", own, kVersion1);
  REQUIRE(cpu);
  CHECK(cpu->own == "/sys/fs/cgroup/cpu,cpuacct");
  // Not mounted as version 1: the hierarchy of version 2.
  const auto pids = group_place("pids", own, kVersion1);
  REQUIRE(pids);
  CHECK((pids->version == 2 && pids->own == "/sys/fs/cgroup/unified/user.slice/x.scope"));
  const auto inside =
      group_place("memory", "4:memory:/docker/abc/x\n",
                  "36 31 0:30 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  REQUIRE(inside);
  CHECK(inside->own == "/sys/fs/cgroup/memory/x");
  CHECK_FALSE(group_place("memory", "0::/../other\n", "1 1 0:1 / /c rw - cgroup2 cgroup2 rw\n"));
  CHECK_FALSE(group_place("memory", own, ""));
}

TEST_CASE("the inside's bounds come through as one word", "[bounds]") {
  InsideBounds bounds;
  CHECK(InsideBounds::parse(bounds.str()) == bounds);
  bounds.processes = 41;
  bounds.disk = 5ULL << 30;
  CHECK(InsideBounds::parse(bounds.str()) == bounds);
  for (const char* text : {"", "-", "1,2,3,4,5", "1,2,3,4,5,6,7", "1,2,3,4,5,x", "-1,-,-,-,-,-"})
    CHECK_FALSE(InsideBounds::parse(text));
}

TEST_CASE("a directory's bytes are counted once, without links and however deep", "[bounds]") {
  char name[] = "/tmp/warder-test-XXXXXX";
  REQUIRE(::mkdtemp(name) != nullptr);
  const std::string directory = name;
  const std::uint64_t empty = bytes_below(directory);
  std::ofstream(directory + "/a") << std::string(1'000'000, 'x');
  REQUIRE(::link((directory + "/a").c_str(), (directory + "/b").c_str()) == 0);
  REQUIRE(::symlink("/usr", (directory + "/c").c_str()) == 0);
  const std::uint64_t full = bytes_below(directory);
  CHECK(full - empty >= 1'000'000);
  CHECK(full - empty < 1'100'000);
  std::string deep = directory;
  for (int i = 0; i < 210; ++i) {
    deep += "/d";
    REQUIRE(::mkdir(deep.c_str(), 0700) == 0);
  }
  CHECK(bytes_below(directory) > 1ULL << 50);
  std::filesystem::remove_all(directory);
}

TEST_CASE("one's own tree has oneself in it, and some memory", "[bounds]") {
  REQUIRE(knows_children());
  const auto tree = tree_of(::getpid());
  REQUIRE(tree.front() == ::getpid());
  std::vector<char> block(32U << 20, 'x');
  CHECK(memory_of(tree, 0) > 30U << 20);
  CHECK(block.back() == 'x');
}

}  // namespace warder
