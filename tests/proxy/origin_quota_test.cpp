// Who gets the next connection to an authority, over all workers of a session.
#include "proxy/origin_quota.hpp"

#include "tests/support/catch.hpp"

using namespace warder;

TEST_CASE("connections to one authority end at the limit, those to another do not count") {
  OriginQuota quota;
  const OriginQuota::Ticket none;
  CHECK(quota.take("https://a.test", {2, 100}, none));
  CHECK(quota.take("https://a.test", {2, 100}, none));
  CHECK_FALSE(quota.take("https://a.test", {2, 100}, none));
  CHECK(quota.take("https://b.test", {2, 100}, none));
  quota.give("https://a.test");
  CHECK(quota.take("https://a.test", {2, 100}, none));
}

TEST_CASE("who waits for a connection is served in turn, whatever worker it is on") {
  OriginQuota quota;
  const int pool_1 = 0;
  const int pool_2 = 0;
  const OriginQuota::Ticket first{&quota, &pool_1};
  const OriginQuota::Ticket second{&pool_1, &pool_2};
  REQUIRE(quota.take("https://a.test", {1, 100}, first));
  CHECK_FALSE(quota.is_wanted_elsewhere("https://a.test", &pool_1));
  quota.wait("https://a.test", second);
  quota.wait("https://a.test", first);
  CHECK(quota.is_wanted_elsewhere("https://a.test", &pool_1));
  CHECK_FALSE(quota.is_wanted_elsewhere("https://a.test", &pool_2));
  CHECK_FALSE(quota.is_wanted_elsewhere("https://b.test", &pool_1));
  quota.give("https://a.test");
  CHECK_FALSE(quota.take("https://a.test", {1, 100}, first));
  CHECK(quota.take("https://a.test", {1, 100}, second));
  quota.leave("https://a.test", second);
  CHECK_FALSE(quota.is_wanted_elsewhere("https://a.test", &pool_1));
  CHECK_FALSE(quota.take("https://a.test", {1, 100}, first));
  quota.give("https://a.test");
  CHECK(quota.take("https://a.test", {1, 100}, first));
}

TEST_CASE("connections to all authorities together end at their own limit") {
  OriginQuota quota;
  const OriginQuota::Ticket none;
  CHECK(quota.take("https://a.test", {2, 3}, none));
  CHECK(quota.take("https://a.test", {2, 3}, none));
  CHECK(quota.take("https://b.test", {2, 3}, none));
  CHECK_FALSE(quota.take("https://b.test", {2, 3}, none));
  quota.give("https://a.test");
  CHECK(quota.take("https://c.test", {2, 3}, none));
}
