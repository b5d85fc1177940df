// The cache of leaves: bounded, renewing, and safe under many threads.
#include "certs/leaf_cache.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "tests/certs/fixtures.hpp"

using namespace warder;
using namespace warder::test;
using namespace std::chrono_literals;

TEST_CASE("one name has one leaf, however often it is asked for") {
  const FakeClock clock;
  const CertificateAuthority authority(clock);
  LeafCache cache(authority);
  const auto first = cache.leaf(host("api.test"));
  REQUIRE(first);
  CHECK(cache.leaf(host("API.test.")) == first);
  CHECK(cache.leaf(host("www.test")) != first);
}

TEST_CASE("the leaf that was used least recently goes first") {
  const FakeClock clock;
  const CertificateAuthority authority(clock);
  LeafCache cache(authority, 2);
  const auto a = cache.leaf(host("a.test"));
  const auto b = cache.leaf(host("b.test"));
  CHECK(cache.leaf(host("a.test")) == a);  // now b is the older one
  cache.leaf(host("c.test"));
  CHECK(cache.leaf(host("a.test")) == a);
  CHECK(cache.leaf(host("b.test")) != b);
  CHECK(b);  // whoever held the old one still holds it
}

TEST_CASE("a cache of nothing still serves") {
  const FakeClock clock;
  const CertificateAuthority authority(clock);
  LeafCache cache(authority, 0);
  CHECK(cache.leaf(host("a.test")));
  CHECK(cache.leaf(host("b.test")));
}

TEST_CASE("a leaf that expires within the hour is minted anew") {
  FakeClock clock;
  const CertificateAuthority authority(clock);
  LeafCache cache(authority);
  const auto old = cache.leaf(host("api.test"));
  clock.time += 7 * 24h - 61min;
  CHECK(cache.leaf(host("api.test")) == old);
  clock.time += 2min;
  const auto renewed = cache.leaf(host("api.test"));
  REQUIRE(renewed);
  CHECK(renewed != old);
  CHECK(strict_verdict(renewed.get(), authority.certificate(), clock.time + 24h) == X509_V_OK);
  CHECK(cache.leaf(host("api.test")) == renewed);
}

TEST_CASE("in the authority's last hour a leaf is kept, after it there is none") {
  FakeClock clock;
  const CertificateAuthority authority(clock);
  LeafCache cache(authority);
  clock.time += 365 * 24h - 1h - 10min;
  const auto last = cache.leaf(host("api.test"));
  REQUIRE(last);
  clock.time += 9min;
  CHECK(cache.leaf(host("api.test")) == last);
  clock.time += 1min;
  CHECK_FALSE(cache.leaf(host("api.test")));
}

TEST_CASE("many threads get the same leaves and never too many of them") {
  const FakeClock clock;
  const CertificateAuthority authority(clock);
  LeafCache cache(authority, 8);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const std::string name = "h" + std::to_string((i + t) % 12) + ".test";
        const auto leaf = cache.leaf(host(name));
        // What TLS does with a shared leaf: reads its names and its encoding.
        const bool right = leaf && X509_check_host(leaf.get(), name.c_str(), 0, 0, nullptr) == 1 &&
                           i2d_X509(leaf.get(), nullptr) > 0;
        if (!right) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
