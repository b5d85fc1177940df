#include "audit/key_file.hpp"

#include <sys/stat.h>

#include "base/encoding.hpp"
#include "tests/audit/support.hpp"

using namespace warder;
using namespace warder::audit;
using namespace warder::audit::test;

TEST_CASE("a missing key is made once, for its owner only") {
  const TempDir dir;
  const fs::path file = dir / "state/deep/audit.key";
  const std::string first = read_or_make_key(file).verifier().text();
  struct stat info{};
  REQUIRE(::stat(file.c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
  CHECK(info.st_nlink == 1);
  CHECK(info.st_size == 65);
  REQUIRE(::stat(file.parent_path().c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0700);
  CHECK(read_or_make_key(file).verifier().text() == first);
  CHECK(verifier_key(file) == first);
  CHECK(std::distance(fs::directory_iterator(file.parent_path()), fs::directory_iterator()) == 1);
}

TEST_CASE("racing makers end with one key") {
  const TempDir dir;
  for (int round = 0; round < 20; ++round) {
    const fs::path file = dir / ("key" + std::to_string(round));
    std::vector<std::string> keys(8);
    std::vector<std::thread> threads;
    for (auto& key : keys) {
      threads.emplace_back([&] { key = read_or_make_key(file).verifier().text(); });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& key : keys) CHECK(key == keys.front());
  }
}

TEST_CASE("hex and base64 seeds are the same key") {
  const TempDir dir;
  write_file(dir / "hex", std::string(64, '1') + "\n");
  write_file(dir / "base64", base64_encode(std::string(32, '\x11')) + "\n");
  for (const char* name : {"hex", "base64"}) ::chmod((dir / name).c_str(), 0600);
  CHECK(verifier_key(dir / "hex") == verifier_key(dir / "base64"));
}

TEST_CASE("a key that is not safely ours is refused with a sentence that has no key in it") {
  using Catch::Matchers::Contains;
  const TempDir dir;
  const std::string seed(64, 'a');
  const fs::path file = dir / "key";
  write_file(file, seed + "\n");
  for (const mode_t mode : {0640, 0604, 0660, 0606, 0777, 0610}) {
    ::chmod(file.c_str(), mode);
    CHECK_THROWS_WITH(read_or_make_key(file), Contains("others may read it"));
  }
  ::chmod(file.c_str(), 0600);
  CHECK_NOTHROW(read_or_make_key(file));

  fs::create_symlink(file, dir / "link");
  CHECK_THROWS_WITH(read_or_make_key(dir / "link"), Contains("symbolic link"));
  fs::create_symlink(dir / "nowhere", dir / "dangling");
  CHECK_THROWS_WITH(read_or_make_key(dir / "dangling"), Contains("symbolic link"));
  CHECK_THROWS_WITH(read_or_make_key("/dev/null"), Contains("not a regular file"));
  CHECK_THROWS_WITH(read_key(dir / "missing"), Contains("No such file"));

  for (const std::string& bad : {std::string(), seed.substr(1), seed + "a", seed + "\n\n",
                                 std::string(44, '!'), std::string(32, 'x')}) {
    write_file(file, bad);
    try {
      read_key(file);
      FAIL("accepted a seed of " << bad.size() << " characters");
    } catch (const std::runtime_error& error) {
      CHECK_THAT(error.what(), Contains("not a seed"));
      CHECK_THAT(error.what(), !Contains("aaaaaaaa"));
    }
  }
  if (::geteuid() == 0) {
    write_file(file, seed);
    REQUIRE(::chown(file.c_str(), 12345, 0) == 0);
    CHECK_THROWS_WITH(read_or_make_key(file), Contains("belongs to uid 12345"));
  }
}
