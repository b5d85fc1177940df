#include "secrets/store_file.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "secrets/source_store.hpp"
#include "tests/secrets/folder.hpp"
#include "tests/secrets/seeded_random.hpp"

using namespace warder;
using namespace warder::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

const std::string kKey(kStoreKeyBytes, 'k');

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

// A store of one entry "tok", replaced with the next count each time.
struct Store {
  explicit Store(const Folder& folder) : file(folder.path / "secrets") {}
  void put(const std::string& value, std::uint32_t version = 1, const char* name = "tok") {
    std::vector<StoreEntry> entries;
    entries.push_back({name, version, 1, 1, WipedBytes(value.begin(), value.end())});
    write(seal_store(header, entries, kKey, random));
    ++header.count;
  }
  void write(const std::string& bytes) {
    const StoreLock lock(file, 1s);
    replace_store_file(file, bytes);
  }
  std::shared_ptr<StoreReader> reader() {
    return std::make_shared<StoreReader>(file, [this](const StoreHeader&) {
      ++keys_asked;
      return WipedBytes(key.begin(), key.end());
    });
  }
  fs::path file;
  SeededRandom random{7};
  StoreHeader header = new_store_header(StoreHeader::Kind::key, random);
  std::string key = kKey;
  int keys_asked = 0;
};

}  // namespace

TEST_CASE("a store's key is made once, 0600, and read again") {
  const Folder folder;
  SeededRandom random(1);
  const fs::path file = folder.path / "below" / "secrets.key";
  make_store_key(file, random);
  const WipedBytes key = read_store_key(file);
  CHECK(key.size() == kStoreKeyBytes);
  make_store_key(file, random);
  CHECK(read_store_key(file) == key);
  struct stat status{};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK(std::distance(fs::directory_iterator(file.parent_path()), {}) == 1);
}

TEST_CASE("attack: a key that others may read, or that is no key, is refused") {
  const Folder folder;
  SeededRandom random(1);
  const fs::path file = folder.path / "key";
  make_store_key(file, random);
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0610}) {
    ::chmod(file.c_str(), mode);
    CHECK(error_of([&] { read_store_key(file); }).find("others") != std::string::npos);
  }
  ::chmod(file.c_str(), 0600);
  CHECK(error_of([&] { read_store_key(file); }).empty());
  fs::create_symlink(file, folder.path / "link");
  CHECK(error_of([&] { read_store_key(folder.path / "link"); }).find("symbolic") !=
        std::string::npos);
  const fs::path bad = folder.file("bad", "not a key\n");
  ::chmod(bad.c_str(), 0600);
  CHECK(error_of([&] { read_store_key(bad); }).find("32 bytes") != std::string::npos);
  CHECK_FALSE(error_of([&] { read_store_key(folder.path / "none"); }).empty());
}

TEST_CASE("a key may be given as hex or as its bytes") {
  CHECK(store_key_of(kKey) == WipedBytes(kKey.begin(), kKey.end()));
  std::string hex;
  for (int i = 0; i < 32; ++i) hex += "6b";
  CHECK(store_key_of(hex) == store_key_of(kKey));
  CHECK(store_key_of(hex + "\n") == store_key_of(kKey));
  CHECK_FALSE(store_key_of(hex + "00"));
  CHECK_FALSE(store_key_of(""));
}

TEST_CASE("one writer at a time: a second one waits, and gives up in time") {
  const Folder folder;
  const fs::path file = folder.path / "secrets";
  auto first = std::make_unique<StoreLock>(file, 1s);
  CHECK(error_of([&] { StoreLock(file, 100ms); }).find("another warder") != std::string::npos);
  std::thread later([&] {
    std::this_thread::sleep_for(200ms);
    first.reset();
  });
  CHECK(error_of([&] { StoreLock(file, 5s); }).empty());
  later.join();
}

TEST_CASE("what a killed writer left does not stand in the way") {
  const Folder folder;
  Store store(folder);
  folder.file("secrets.new", "half of a sto");
  store.put("value-one");
  CHECK(outcome(store_source(store.reader(), "tok")->read({})) == "value-one");
  CHECK_FALSE(fs::exists(folder.path / "secrets.new"));
}

TEST_CASE("a store's entry is a source: rotated, removed") {
  const Folder folder;
  Store store(folder);
  store.put("value-one", 4);
  const auto source = store_source(store.reader(), "tok");
  const Reading first = source->read({});
  CHECK(outcome(first) == "value-one");
  CHECK(first.version == 4);
  CHECK_FALSE(source->looks_changed());
  store.put("value-two", 5);
  CHECK(source->looks_changed());
  CHECK(outcome(source->read({})) == "value-two");
  CHECK(store.keys_asked == 1);
  store.put("value-three", 1, "other");
  CHECK(source->looks_changed());
  const Reading gone = source->read({});
  CHECK(gone.state == Reading::State::gone);
  CHECK(gone.grace == SourceDuration::zero());
}

TEST_CASE(
    "attack: a store that is damaged, removed, rolled back or sealed anew does not take a value "
    "away or change it") {
  const Folder folder;
  Store store(folder);
  store.put("value-one");
  std::ifstream in(store.file, std::ios::binary);
  const std::string old(std::istreambuf_iterator<char>(in), {});
  store.put("value-two");
  const auto source = store_source(store.reader(), "tok");
  REQUIRE(outcome(source->read({})) == "value-two");

  store.write(old);
  CHECK(source->looks_changed());
  CHECK(outcome(source->read({})).find("older than it was") != std::string::npos);
  store.write(old.substr(0, old.size() - 1));
  CHECK(fails(source->read({})));
  store.write("");
  CHECK(outcome(source->read({})).find("cut off") != std::string::npos);
  fs::remove(store.file);
  CHECK(fails(source->read({})));
  store.key = std::string(kStoreKeyBytes, 'x');
  store.put("value-two");
  CHECK(outcome(source->read({})).find("was not written with this key") != std::string::npos);
  store.key = kKey;
  store.put("value-three");
  CHECK(outcome(source->read({})) == "value-three");
}

TEST_CASE("a store that grows or is no file is refused") {
  const Folder folder;
  fs::create_directory(folder.path / "dir");
  CHECK(error_of([&] { read_store_file(folder.path / "dir"); }).find("regular") !=
        std::string::npos);
  CHECK_FALSE(read_store_file(folder.path / "none"));
  folder.file("big", "x");
  fs::resize_file(folder.path / "big", kMostStoreBytes + 1);
  CHECK(error_of([&] { read_store_file(folder.path / "big"); }).find("larger") !=
        std::string::npos);
}

TEST_CASE(
    "fault: a writer that is killed at any moment leaves the store before or after, never broken") {
  const Folder folder;
  Store store(folder);
  store.put("value-0");
  const auto is_whole = [&] {
    const auto read = read_store_file(store.file);
    return read && std::holds_alternative<std::vector<StoreEntry>>(open_store(read->bytes, kKey));
  };
  for (int round = 0; round < 60; ++round) {
    const pid_t writer = ::fork();
    REQUIRE(writer >= 0);  // -1 would be everybody
    if (writer == 0) {
      for (int i = 0;; ++i) store.put(std::string(8 + static_cast<std::size_t>(i % 3000), 'v'));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + 613 * round));
    // Readers need no lock: there is no moment at which they see half of it.
    CHECK(is_whole());
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    CHECK(is_whole());
  }
  store.header.count = 1U << 20;
  store.put("value-end");
  CHECK(outcome(store_source(store.reader(), "tok")->read({})) == "value-end");
}
