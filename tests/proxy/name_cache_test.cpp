// How long an answer is kept, and what goes when there are too many.
#include "proxy/name_cache.hpp"

#include "tests/support/catch.hpp"

using namespace warder;
using std::chrono::seconds;

namespace {

const std::chrono::steady_clock::time_point kStart{std::chrono::hours(1)};

NameAnswer found(int ttl, std::uint8_t last = 1) {
  return {std::vector<IpAddress>{IpAddress::v4({93, 184, 216, last})}, seconds(ttl)};
}

}  // namespace

TEST_CASE("an answer is kept as long as its TTL, and no longer") {
  NameCache cache;
  cache.store("api.test", found(30), kStart);
  REQUIRE(cache.find("api.test", kStart + seconds(29)));
  CHECK(cache.find("api.test", kStart)->addresses->front().str() == "93.184.216.1");
  CHECK_FALSE(cache.find("api.test", kStart + seconds(30)));
  CHECK(cache.size() == 0);
  CHECK_FALSE(cache.find("other.test", kStart));
}

TEST_CASE("a TTL has a ceiling, and one of zero keeps nothing") {
  CHECK(NameCache::lifetime(found(0)) == seconds(0));
  CHECK(NameCache::lifetime(found(1)) == seconds(1));
  CHECK(NameCache::lifetime(found(300)) == seconds(300));
  CHECK(NameCache::lifetime(found(86400)) == seconds(300));
  CHECK(NameCache::lifetime(found(-5)) == seconds(0));
  NameCache cache;
  cache.store("api.test", found(60), kStart);
  cache.store("api.test", found(0), kStart);
  CHECK_FALSE(cache.find("api.test", kStart));
}

TEST_CASE("that a name does not exist is kept for 2 s, a resolver's failure not at all") {
  for (const ResolveError error : {ResolveError::no_such_name, ResolveError::no_address})
    CHECK(NameCache::lifetime({error}) == seconds(2));
  for (const ResolveError error :
       {ResolveError::no_answer, ResolveError::refused, ResolveError::too_many})
    CHECK(NameCache::lifetime({error}) == seconds(0));
  NameCache cache;
  cache.store("gone.test", {ResolveError::no_such_name}, kStart);
  const auto known = cache.find("gone.test", kStart + seconds(1));
  REQUIRE(known);
  CHECK(known->addresses.error() == ResolveError::no_such_name);
  CHECK_FALSE(cache.find("gone.test", kStart + seconds(2)));
}

TEST_CASE("a full cache forgets the name that was used least recently") {
  NameCache cache(3);
  cache.store("a.test", found(60, 1), kStart);
  cache.store("b.test", found(60, 2), kStart);
  cache.store("c.test", found(60, 3), kStart);
  CHECK(cache.find("a.test", kStart));
  cache.store("b.test", found(60, 4), kStart);  // known: nothing goes
  CHECK(cache.size() == 3);
  cache.store("d.test", found(60, 5), kStart);
  CHECK(cache.size() == 3);
  CHECK_FALSE(cache.find("c.test", kStart));
  CHECK(cache.find("a.test", kStart));
  CHECK(cache.find("b.test", kStart)->addresses->front() == IpAddress::v4({93, 184, 216, 4}));
}
