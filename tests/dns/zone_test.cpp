// The synthetic addresses: each name its own, none twice, none beyond the network.
#include "dns/zone.hpp"

#include <set>
#include <thread>

#include "tests/support/catch.hpp"

using namespace warder;
using warder::dns::Zone;
using Address = std::array<std::uint8_t, 4>;

namespace {
HostName host(const std::string& text) { return HostName::parse(text).value(); }
HostName numbered(std::size_t i) { return host("h" + std::to_string(i) + ".test"); }
}  // namespace

TEST_CASE("a name keeps its address and an address its name") {
  Zone zone;
  const auto api = zone.address_for(host("api.test"));
  CHECK(api == Address{198, 18, 0, 2});
  CHECK(zone.address_for(host("www.test")) == Address{198, 18, 0, 3});
  CHECK(zone.address_for(host("API.test.")) == api);
  CHECK(zone.name_for(*api) == host("api.test"));
  CHECK(zone.name_for({198, 18, 0, 3}) == host("www.test"));
}

TEST_CASE("an address that was not given out has no name") {
  Zone zone;
  zone.address_for(host("api.test"));
  for (const Address address :
       {Address{198, 18, 0, 0}, Address{198, 18, 0, 1}, Address{198, 18, 0, 3},
        Address{198, 19, 255, 254}, Address{198, 19, 255, 255}, Address{198, 17, 0, 2},
        Address{198, 20, 0, 2}, Address{10, 0, 0, 2}, Address{0, 0, 0, 0},
        Address{255, 255, 255, 255}}) {
    CHECK_FALSE(zone.name_for(address));
  }
}

TEST_CASE("the network covers 198.18.0.0/15 and nothing beside it") {
  CHECK(Zone::covers({198, 18, 0, 0}));
  CHECK(Zone::covers({198, 19, 255, 255}));
  CHECK_FALSE(Zone::covers({198, 17, 255, 255}));
  CHECK_FALSE(Zone::covers({198, 20, 0, 0}));
  CHECK_FALSE(Zone::covers({127, 0, 0, 1}));
}

TEST_CASE("a full zone refuses new names and still knows the old ones") {
  Zone zone(2);
  const auto first = zone.address_for(host("a.test"));
  CHECK(zone.address_for(host("b.test")));
  CHECK_FALSE(zone.address_for(host("c.test")));
  CHECK(zone.address_for(host("a.test")) == first);
  CHECK_FALSE(Zone(0).address_for(host("a.test")));
}

TEST_CASE("an address literal gets no synthetic address") {
  Zone zone;
  CHECK_FALSE(zone.address_for(host("192.0.2.1")));
  CHECK_FALSE(zone.address_for(host("2001:db8::1")));
  CHECK(zone.address_for(host("api.test")) == Address{198, 18, 0, 2});
}

TEST_CASE("the last address is 198.19.255.254, whatever capacity was asked for") {
  Zone zone(1'000'000);
  constexpr std::size_t kAll = 131'069;
  std::optional<Address> last;
  for (std::size_t i = 0; i < kAll; ++i) {
    last = zone.address_for(numbered(i));
    if (!last || !Zone::covers(*last)) FAIL("no address for name " << i);
  }
  CHECK(last == Address{198, 19, 255, 254});
  CHECK_FALSE(zone.address_for(host("one.more.test")));
  CHECK(zone.name_for({198, 18, 1, 0}) == numbered(254));
  CHECK(zone.name_for({198, 19, 255, 254}) == numbered(kAll - 1));
}

TEST_CASE("threads that ask at once never share an address") {
  Zone zone;
  constexpr std::size_t kNames = 200;
  std::vector<std::vector<Address>> got(4);
  std::vector<std::thread> threads;
  for (auto& mine : got) {
    threads.emplace_back([&zone, &mine] {
      for (std::size_t i = 0; i < kNames; ++i) {
        mine.push_back(zone.address_for(numbered(i)).value_or(Address{}));
        static_cast<void>(zone.name_for(mine.back()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : got) CHECK(mine == got.front());
  CHECK(std::set<Address>(got.front().begin(), got.front().end()).size() == kNames);
}
