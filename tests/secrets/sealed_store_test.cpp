#include "secrets/sealed_store.hpp"

#include "secrets/placeholder.hpp"
#include "tests/secrets/seeded_random.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

const std::string kKey(kStoreKeyBytes, 'k');
const std::string kOtherKey(kStoreKeyBytes, 'o');

StoreEntry entry(std::string name, std::string_view value, std::uint32_t version = 1) {
  return {std::move(name), version, 1'700'000'000, 1'700'000'100,
          WipedBytes(value.begin(), value.end())};
}
std::vector<StoreEntry> two() { return {entry("github", "ghp_value"), entry("openai", "sk-v", 3)}; }

std::string problem(const std::string& file, const std::string& key = kKey) {
  const auto opened = open_store(file, key);
  const auto* text = std::get_if<std::string>(&opened);
  return text == nullptr ? "(opened)" : *text;
}

std::string sealed(std::vector<StoreEntry> entries = two(), std::uint64_t seed = 1) {
  test::SeededRandom random(seed);
  return seal_store(new_store_header(StoreHeader::Kind::key, random), entries, kKey, random);
}

}  // namespace

TEST_CASE("a store opens to what was sealed") {
  const std::string file = sealed();
  const auto opened = std::get<std::vector<StoreEntry>>(open_store(file, kKey));
  REQUIRE(opened.size() == 2);
  CHECK(opened[0].name == "github");
  CHECK(as_view(opened[0].value) == "ghp_value");
  CHECK(opened[1].version == 3);
  CHECK(opened[1].made == 1'700'000'000);
  CHECK(opened[1].changed == 1'700'000'100);
  CHECK(std::get<StoreHeader>(store_header(file)).count == 1);
  CHECK(problem(sealed({})) == "(opened)");
  // Neither names nor values can be read without the key.
  for (const char* word : {"github", "ghp_value", "openai"})
    CHECK(file.find(word) == std::string::npos);
}

TEST_CASE("each change has its own nonce and the next count") {
  test::SeededRandom random(1);
  const std::string first =
      seal_store(new_store_header(StoreHeader::Kind::key, random), two(), kKey, random);
  const auto header = std::get<StoreHeader>(store_header(first));
  const auto next = std::get<StoreHeader>(store_header(seal_store(header, two(), kKey, random)));
  CHECK(next.count == header.count + 1);
  CHECK(next.nonce != header.nonce);
  CHECK(next.key_id == header.key_id);
}

TEST_CASE("attack: every byte that is changed, and every cut, is found") {
  const std::string file = sealed();
  for (std::size_t at = 0; at < file.size(); ++at) {
    CAPTURE(at);
    for (const char flip : {'\x01', '\x80'}) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      CHECK(problem(changed) != "(opened)");
    }
    CHECK(problem(file.substr(0, at)) != "(opened)");
  }
  CHECK(problem(file + "x") != "(opened)");
  CHECK(problem(file + file) != "(opened)");
  CHECK(problem(file.substr(0, file.size() - 20)) ==
        "is damaged or was changed: its seal does not fit");
  CHECK(problem("warder-sec") == "is cut off");
  CHECK(problem("") == "is cut off");
  CHECK(problem("{}").starts_with("is not a secret store"));
}

TEST_CASE("attack: entries of an older or other store of the same key cannot be put in") {
  const std::string old = sealed({entry("github", "old-value")}, 1);
  const std::string now = sealed({entry("github", "new-value")}, 2);
  REQUIRE(old.size() == now.size());
  // Either header with the other's seal.
  for (std::size_t cut = 1; cut < old.size(); ++cut) {
    const std::string mixed = old.substr(0, cut) + now.substr(cut);
    if (mixed == old || mixed == now) continue;
    CAPTURE(cut);
    CHECK(problem(mixed) != "(opened)");
  }
}

TEST_CASE("another key is told from a damaged file") {
  CHECK(problem(sealed(), kOtherKey) == "was not written with this key");
  CHECK(problem(sealed(), "short") == "was not written with this key");
}

TEST_CASE("a passphrase opens a store through Argon2id, with the parameters that stand in it") {
  test::SeededRandom random(3);
  StoreHeader header = new_store_header(StoreHeader::Kind::passphrase, random);
  CHECK(header.ops >= 3);
  CHECK(header.memory >= std::uint64_t{64} << 20);
  CHECK(header.salt != std::string(16, '\0'));
  header.ops = 1;
  header.memory = 8192;  // quick, for the test
  WipedBytes key;
  REQUIRE(derive_store_key("correct horse", header, key));
  const std::string file = seal_store(header, two(), as_view(key), random);
  const auto read = std::get<StoreHeader>(store_header(file));
  CHECK(read.kind == StoreHeader::Kind::passphrase);
  WipedBytes again;
  REQUIRE(derive_store_key("correct horse", read, again));
  CHECK(problem(file, std::string(as_view(again))) == "(opened)");
  REQUIRE(derive_store_key("correct hors", read, again));
  CHECK(problem(file, std::string(as_view(again))) == "does not open with this passphrase");
}

TEST_CASE("attack: a header cannot ask for more memory or time than there is") {
  test::SeededRandom random(3);
  StoreHeader header = new_store_header(StoreHeader::Kind::passphrase, random);
  const auto of = [&](std::uint64_t ops, std::uint64_t memory) {
    header.ops = ops;
    header.memory = memory;
    const auto read = store_header(seal_store(header, two(), kKey, random));
    const auto* text = std::get_if<std::string>(&read);
    return text == nullptr ? "(read)" : *text;
  };
  CHECK(of(1, 8192) == "(read)");
  CHECK(of(17, 8192) != "(read)");
  CHECK(of(3, (std::uint64_t{1} << 30) + 1) != "(read)");
  CHECK(of(UINT64_MAX, UINT64_MAX) != "(read)");
  CHECK(of(0, 0) != "(read)");
}

TEST_CASE("the entries are strict: order, names, sizes, nothing behind") {
  const auto text = [](const std::vector<StoreEntry>& entries) {
    return std::string(as_view(store_entries_text(entries)));
  };
  const auto takes = [](const std::string& plain) {
    return parse_store_entries(plain).has_value();
  };
  CHECK(takes(text(two())));
  CHECK(takes(text({})));
  CHECK_FALSE(takes(text({entry("b", "v"), entry("a", "v")})));
  CHECK_FALSE(takes(text({entry("a", "v"), entry("a", "v")})));
  CHECK_FALSE(takes(text({entry("", "v")})));
  CHECK_FALSE(takes(text({entry("a b", "v")})));
  CHECK_FALSE(takes(text({entry("a", "v", 0)})));
  CHECK_FALSE(takes(text({entry("a", std::string(kMaxSecretBytes + 1, 'x'))})));
  CHECK_FALSE(takes(text(two()) + "x"));
  const std::string whole = text(two());
  for (std::size_t cut = 0; cut < whole.size(); ++cut) CHECK_FALSE(takes(whole.substr(0, cut)));
  CHECK_FALSE(takes("\xff\xff\xff\xff"));
}

TEST_CASE("a store is bounded") {
  std::vector<StoreEntry> many;
  for (std::size_t i = 0; i <= kMostStoreEntries; ++i)
    many.push_back(entry("e" + std::to_string(10'000 + i), "value-of-it"));
  CHECK_THROWS_AS(sealed(std::move(many)), std::length_error);
}
