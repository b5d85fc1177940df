#include "cli/secret_store.hpp"

#include <atomic>
#include <thread>

#include "config/load.hpp"
#include "tests/secrets/folder.hpp"
#include "tests/secrets/seeded_random.hpp"

using namespace warder;
using namespace warder::test;
using namespace std::chrono_literals;

namespace {

// A configuration of one file and one helper that reads another, and the store of its values.
struct World {
  World() {
    folder.file("tok", "value-one");
    folder.file("answer", "answer-one");
    const auto helper = folder.script("helper", "cat " + (folder.path / "answer").string());
    config = parse_config(
        "version: 1\nsecrets:\n  tok: {source: {file: " + (folder.path / "tok").string() +
            "}, placeholder: {env: TOK}}\n  told: {source: {exec: [" + helper.string() +
            "], cache: 100s}, placeholder: {env: TOLD}}\n"
            "policies: {p: {rules: [{hosts: [api.test], action: allow}], grants: "
            "[{secret: tok, hosts: [api.test]}, {secret: told, hosts: [api.test]}]}}\n",
        folder.path / "w.yaml");
    store = std::make_unique<SecretStore>(
        config, std::vector<const PolicyConfig*>{&config.policies.front()},
        SecretStore::Listeners::closed);
  }
  std::unique_ptr<LiveSecrets> session() {
    return std::make_unique<LiveSecrets>(
        store->for_session(config.policies.front(), random).secrets);
  }
  // As often as a change, and what is slow, need.
  std::vector<std::string> look(SourceDuration later = {}) {
    std::vector<std::string> lines;
    const auto now = std::chrono::steady_clock::now() + later;
    for (int i = 0; i < 200; ++i) {
      for (auto& line : store->look(now, {})) lines.push_back(std::move(line));
      if (i > 2) std::this_thread::sleep_for(2ms);
    }
    return lines;
  }
  void replace(const std::string& name, const std::string& bytes) const {
    folder.file(name + ".draft", bytes);
    std::filesystem::rename(folder.path / (name + ".draft"), folder.path / name);
  }

  Folder folder;
  Config config;
  std::unique_ptr<SecretStore> store;
  SeededRandom random{1};
};

std::string value_in(const SessionSecrets& secrets, const char* name = "tok") {
  const Credential* credential = secrets.credential(name);
  if (credential == nullptr || !credential->value) return "(none)";
  return credential->value->reveal([](std::string_view plain) { return std::string(plain); });
}

}  // namespace

TEST_CASE("a change reaches every session once, behind the placeholder that it has") {
  World world;
  const auto one = world.session();
  const auto other = world.session();
  const std::string placeholder = one->now()->credential("tok")->placeholder;
  CHECK(world.look().empty());
  CHECK(world.store->update(*one).empty());
  world.replace("tok", "value-two");
  world.look();
  for (const auto* session : {one.get(), other.get()}) {
    const auto changes = world.store->update(*const_cast<LiveSecrets*>(session));
    REQUIRE(changes.size() == 1);
    CHECK(changes[0].secret == "tok");
    CHECK(changes[0].event == SecretEvent::rotated);
    CHECK(changes[0].version == 2);
  }
  CHECK(world.store->update(*one).empty());
  CHECK(value_in(*one->now()) == "value-two");
  CHECK(one->now()->credential("tok")->placeholder == placeholder);
  const auto later = world.session();
  CHECK(value_in(*later->now()) == "value-two");
  CHECK(later->now()->credential("tok")->version == 2);
}

TEST_CASE("a session that began before a change and was not told yet is told later") {
  World world;
  const auto late = world.session();
  world.replace("tok", "value-two");
  world.look();
  world.replace("tok", "value-three");
  world.look();
  const auto changes = world.store->update(*late);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].version == 3);
  CHECK(value_in(*late->now()) == "value-three");
  CHECK(late->now()->credential("tok")->version == 3);
}

TEST_CASE("everything() has the values of now and of before") {
  World world;
  world.replace("tok", "value-two");
  world.look();
  CHECK(world.store->update_own().empty());  // no tokens of listeners among them
  std::string text = "value-one value-two";
  CHECK(world.store->everything()->mask_set().mask(text) == 2);
}

TEST_CASE("a helper that fails keeps its answer, then has none, then a new one") {
  World world;
  const auto session = world.session();
  std::filesystem::remove(world.folder.path / "answer");
  const auto warned = world.look(80s);
  REQUIRE(warned.size() == 2);  // what it said, and what that means
  CHECK(warned[0].find("secret told: helper says: cat: ") != std::string::npos);
  CHECK(warned[1].find("stays in use") != std::string::npos);
  CHECK(world.store->update(*session).empty());
  world.look(101s);
  auto changes = world.store->update(*session);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].event == SecretEvent::unavailable);
  CHECK(value_in(*session->now(), "told") == "(none)");
  // A session that begins now has a placeholder, no value, and masks the one of before.
  const auto waiting = world.session();
  CHECK(value_in(*waiting->now(), "told") == "(none)");
  std::string text = "answer-one";
  CHECK(waiting->now()->mask_set().mask(text) == 1);
  world.folder.file("answer", "answer-two");
  world.look(200s);
  for (auto* each : {session.get(), waiting.get()}) {
    changes = world.store->update(*each);
    REQUIRE(changes.size() == 1);
    CHECK(changes[0].event == SecretEvent::restored);
    CHECK(value_in(*each->now(), "told") == "answer-two");
  }
}

TEST_CASE("what is revoked stays so where it was, and comes back for new sessions only") {
  World world;
  const auto session = world.session();
  std::filesystem::remove(world.folder.path / "tok");
  world.look();
  CHECK(world.store->update(*session).empty());
  world.look(6s);
  const auto changes = world.store->update(*session);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].event == SecretEvent::revoked);
  CHECK(session->now()->credential("tok")->is_revoked);
  CHECK_THROWS_AS(world.session(), ConfigError);
  world.replace("tok", "value-two");
  world.look(7s);
  CHECK(world.store->update(*session).empty());
  CHECK(value_in(*session->now()) == "(none)");
  CHECK(value_in(*world.session()->now()) == "value-two");
  world.store->update_own();
  std::string text = "value-two";
  CHECK(world.store->everything()->mask_set().mask(text) == 1);
}

TEST_CASE("one thread looks while others begin sessions, use and update them") {
  World world;
  const auto shared = world.session();
  std::atomic<bool> over{false};
  std::atomic<int> used{0};
  std::vector<std::thread> users;
  for (int i = 0; i < 3; ++i) {
    users.emplace_back([&, i] {
      SeededRandom random(static_cast<std::uint64_t>(100 + i));
      while (!over) {
        auto own =
            LiveSecrets(world.store->for_session(world.config.policies.front(), random).secrets);
        world.store->update(own);
        world.store->update(*shared);
        const std::string value = value_in(*shared->now());
        if (!value.starts_with("value-")) std::abort();
        std::string text = value;
        world.store->everything()->mask_set().mask(text);
        ++used;
      }
    });
  }
  std::stop_source stop;
  SourceDuration later{};
  for (int i = 0; i < 40; ++i) {
    world.replace("tok", "value-" + std::to_string(1000 + i));
    for (int looks = 0; looks < 3; ++looks) {
      // The helper becomes due again and again.
      world.store->look(std::chrono::steady_clock::now() + (later += 30s), stop.get_token());
      world.store->update(*shared);
      world.store->update_own();
      std::this_thread::sleep_for(1ms);
    }
  }
  over = true;
  for (std::thread& user : users) user.join();
  stop.request_stop();
  CHECK(used > 0);
  CHECK(value_in(*shared->now()) == "value-1039");
}
