// The list of what was refused: counted by kind, bounded, and slow to talk.
#include "proxy/denials.hpp"

#include <thread>

#include "tests/support/catch.hpp"

using namespace warder;

TEST_CASE("the same refusal is one kind, counted, and told once") {
  Denials denials;
  CHECK(denials.add(Reason::host_not_allowed, "GET https://a.test/", "--allow a.test"));
  CHECK_FALSE(denials.add(Reason::host_not_allowed, "GET https://a.test/", "--allow a.test"));
  CHECK(denials.add(Reason::path_not_allowed, "GET https://a.test/", ""));
  const auto kinds = denials.list();
  REQUIRE(kinds.size() == 2);
  CHECK(kinds[0].count == 2);
  CHECK(kinds[0].suggestion == "--allow a.test");
  CHECK(kinds[1].reason == Reason::path_not_allowed);
  CHECK(denials.total() == 3);
}

TEST_CASE("a sandbox that asks for ever new things fills no memory and no screen") {
  Denials denials;
  int lines = 0;
  for (int i = 0; i < 10'000; ++i)
    lines += denials.add(Reason::name_not_allowed, std::to_string(i), "") ? 1 : 0;
  CHECK(denials.list().size() == Denials::kMaxKinds);
  CHECK(denials.others() == 10'000 - Denials::kMaxKinds);
  CHECK(denials.total() == 10'000);
  CHECK(lines >= 5);
  CHECK(lines <= 10);  // five a second, and a second may end in between
  // What is known goes on being counted.
  denials.add(Reason::name_not_allowed, "0", "");
  CHECK(denials.list()[0].count == 2);
}

TEST_CASE("what is refused is cut to a length that a list can hold") {
  Denials denials;
  denials.add(Reason::path_not_allowed, "GET https://a.test/" + std::string(60'000, 'x'), "");
  CHECK(denials.list()[0].what.size() <= 512);
}

TEST_CASE("threads may add at once") {
  Denials denials;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i)
        denials.add(Reason::host_not_allowed, std::to_string(i % 50), "");
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(denials.total() == 4000);
  CHECK(denials.list().size() == 50);
}
