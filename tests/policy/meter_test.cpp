// What is let through, to the millisecond and the byte, against a naive oracle at random times.
#include "policy/meter.hpp"

#include <random>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"

using namespace warder;
using std::chrono::milliseconds;
using Way = Meter::Way;

namespace {

const Meter::Time kBegan = Meter::Time() + std::chrono::hours(1);

Meter::Time at(std::int64_t ms) { return kBegan + milliseconds(ms); }

Limits with(Limit limit, std::uint64_t value) {
  Limits limits;
  limits.set(limit, value);
  return limits;
}

// A bucket that drains one millisecond at a time, in fractions of a 60,000th.
struct Oracle {
  std::int64_t rate;
  std::int64_t held = 0;
  std::int64_t now = 0;
  void advance(std::int64_t to) {
    for (; now < to; ++now) held = std::max<std::int64_t>(0, held - rate);
  }
  bool has_room() const { return held + 60'000 <= rate * 60'000; }
  void take(std::int64_t units) { held += units * 60'000; }
  std::int64_t wait() const {
    Oracle later = *this;
    while (!later.has_room()) later.advance(later.now + 1);
    return later.now - now;
  }
  std::int64_t pause() const {
    Oracle later = *this;
    while (later.held > rate * 60'000) later.advance(later.now + 1);
    return later.now - now;
  }
};

}  // namespace

TEST_CASE("without limits everything is let through, and counted", "[meter]") {
  Meter meter(kBegan);
  for (int i = 0; i < 10'000; ++i) {
    REQUIRE_FALSE(meter.begin_request(1'000, UINT64_MAX, at(0)));
    REQUIRE_FALSE(meter.open_connection(at(0)));
  }
  const auto passage = meter.pass(Way::down, 1ULL << 60, at(0));
  CHECK_FALSE(passage.exceeded);
  CHECK(passage.wait == milliseconds(0));
  CHECK_FALSE(meter.is_over(at(1LL << 40)));
  meter.set_limits(with(Limit::requests, 10'000));
  CHECK(meter.begin_request(0, 0, at(0))->limit == Limit::requests);
}

TEST_CASE("a minute's worth at once, then one by one, and the refusal says when", "[meter]") {
  Meter meter(kBegan);
  meter.set_limits(with(Limit::requests_per_minute, 5));
  for (int i = 0; i < 5; ++i) CHECK_FALSE(meter.begin_request(0, 0, at(0)));
  const auto refused = meter.begin_request(0, 0, at(0));
  REQUIRE(refused);
  CHECK(refused->sentence() == "requests_per_minute: 5 are used up; frees in 12 s");
  CHECK(refused->name() == "requests_per_minute: 5");
  CHECK(refused->retry_after() == std::chrono::seconds(12));
  CHECK(meter.begin_request(0, 0, at(11'999))->frees == milliseconds(1));
  CHECK(meter.begin_request(0, 0, at(11'999))->retry_after() == std::chrono::seconds(1));
  CHECK_FALSE(meter.begin_request(0, 0, at(12'000)));
  CHECK(meter.begin_request(0, 0, at(12'000))->frees == milliseconds(12'000));
  for (int i = 0; i < 5; ++i) CHECK_FALSE(meter.begin_request(0, 0, at(100'000)));
  CHECK(meter.begin_request(0, 0, at(100'000)));
}

TEST_CASE("at random times it lets through what a naive bucket does, and frees when it says",
          "[meter]") {
  std::mt19937 random(7);
  const auto upto = [&](std::uint32_t most) { return static_cast<std::int64_t>(random() % most); };
  for (const std::uint64_t rate : {1, 2, 7, 60, 599, 60'000, 1'000'003}) {
    Meter meter(kBegan);
    meter.set_limits(with(Limit::requests_per_minute, rate));
    Oracle oracle{static_cast<std::int64_t>(rate)};
    std::int64_t now = 0;
    std::uint64_t passed = 0;
    for (int step = 0; step < 400; ++step) {
      now += upto(4) == 0 ? upto(90'000) : upto(200);
      oracle.advance(now);
      for (auto crowd = upto(static_cast<std::uint32_t>(std::min<std::uint64_t>(rate + 2, 300)));
           crowd >= 0; --crowd) {
        const auto refused = meter.begin_request(0, 0, at(now));
        REQUIRE(refused.has_value() == !oracle.has_room());
        if (!refused) {
          oracle.take(1);
          ++passed;
          continue;
        }
        REQUIRE(refused->frees->count() == oracle.wait());
        if (upto(2) == 0) break;
        now += refused->frees->count();
        REQUIRE(meter.begin_request(0, 0, at(now - 1)));
        oracle.advance(now);
      }
    }
    CHECK(passed <= rate + static_cast<std::uint64_t>(now) * rate / 60'000);
  }
}

TEST_CASE("bytes per minute pace: each waits behind those before it", "[meter]") {
  std::mt19937 random(11);
  for (const std::uint64_t rate : {1'000ULL, 65'536ULL, 10ULL << 20}) {
    Meter meter(kBegan);
    meter.set_limits(with(Limit::download_per_minute, rate));
    Oracle oracle{static_cast<std::int64_t>(rate)};
    std::int64_t now = 0;
    for (int step = 0; step < 200; ++step) {
      now += static_cast<std::int64_t>(random() % 500);
      const std::int64_t bytes = 1 + static_cast<std::int64_t>(random() % (rate / 20));
      oracle.advance(now);
      oracle.take(bytes);
      const auto passage = meter.pass(Way::down, static_cast<std::uint64_t>(bytes), at(now));
      REQUIRE_FALSE(passage.exceeded);
      REQUIRE(passage.wait.count() == oracle.pause());
      const auto refused = meter.begin_request(0, 0, at(now));
      REQUIRE(refused.has_value() == !oracle.has_room());
      if (!refused) meter.end_request();
    }
  }
}

TEST_CASE("what is read a minute may be less than one piece: it passes late, not never",
          "[meter]") {
  Meter meter(kBegan);
  meter.set_limits(with(Limit::upload_per_minute, 1));
  CHECK(meter.pass(Way::up, 16'384, at(0)).wait == milliseconds(60'000 * (16'384 - 1)));
}

TEST_CASE("a total is used up for good, to the byte", "[meter]") {
  Meter meter(kBegan);
  meter.set_limits(with(Limit::upload, 1'024));
  CHECK_FALSE(meter.pass(Way::up, 1'000, at(0)).exceeded);
  CHECK_FALSE(meter.begin_request(0, 24, at(0)));
  const auto too_long = meter.begin_request(0, 25, at(0));
  REQUIRE(too_long);
  CHECK(too_long->sentence() == "upload: 1KiB for the session, of which 24 bytes are left");
  CHECK_FALSE(too_long->retry_after());
  CHECK_FALSE(meter.pass(Way::up, 24, at(0)).exceeded);
  CHECK_FALSE(meter.pass(Way::down, 1'000'000, at(0)).exceeded);
  CHECK_FALSE(meter.pass(Way::up, 0, at(0)).exceeded);
  const auto refused = meter.pass(Way::up, 1, at(90'000)).exceeded;
  REQUIRE(refused);
  CHECK(refused->sentence() == "upload: 1KiB is used up, for the rest of the session");
  CHECK(meter.begin_request(0, 0, at(900'000))->limit == Limit::upload);
  CHECK(meter.begin_bytes(at(900'000))->limit == Limit::upload);
}

TEST_CASE("what does not fit into a total uses it up, so that nothing smaller slips by",
          "[meter]") {
  Meter meter(kBegan);
  meter.set_limits(with(Limit::download, 1'000));
  CHECK_FALSE(meter.pass(Way::down, 900, at(0)).exceeded);
  CHECK(meter.pass(Way::down, 101, at(0)).exceeded);
  CHECK(meter.pass(Way::down, 1, at(0)).exceeded);
  CHECK(meter.begin_request(0, 0, at(0))->limit == Limit::download);
}

TEST_CASE("what is open at a time ends at the limit and frees with an end", "[meter]") {
  Meter meter(kBegan);
  Limits limits = with(Limit::concurrent, 2);
  limits.set(Limit::connections, 1);
  meter.set_limits(limits);
  CHECK_FALSE(meter.begin_request(0, 0, at(0)));
  CHECK_FALSE(meter.begin_request(0, 0, at(0)));
  const auto refused = meter.begin_request(0, 0, at(0));
  REQUIRE(refused);
  CHECK(refused->sentence() == "concurrent: 2 are open; frees when one of them ends");
  CHECK_FALSE(refused->retry_after());
  meter.end_request();
  CHECK_FALSE(meter.begin_request(0, 0, at(0)));
  CHECK_FALSE(meter.open_connection(at(0)));
  CHECK(meter.open_connection(at(0))->sentence() ==
        "connections: 1 is open; frees when one of them ends");
  meter.close_connection();
  CHECK_FALSE(meter.open_connection(at(0)));
}

TEST_CASE("the limit that lasts longest is named, and what was refused is not counted", "[meter]") {
  Meter meter(kBegan);
  Limits limits = with(Limit::requests_per_minute, 1);
  limits.set(Limit::requests, 2);
  limits.set(Limit::upload_per_minute, 60);
  meter.set_limits(limits);
  CHECK_FALSE(meter.begin_request(61, 0, at(0)));
  // 2 s for the bytes, a minute for the request.
  CHECK(meter.begin_request(0, 0, at(0))->limit == Limit::requests_per_minute);
  for (int i = 0; i < 100; ++i) CHECK(meter.begin_request(0, 0, at(59'999)));
  CHECK_FALSE(meter.begin_request(0, 0, at(60'000)));
  CHECK(meter.begin_request(0, 0, at(60'000))->limit == Limit::requests);
}

TEST_CASE("counts are kept when the limits change", "[meter]") {
  Meter meter(kBegan);
  Limits limits = with(Limit::requests_per_minute, 4);
  limits.set(Limit::requests, 4);
  meter.set_limits(limits);
  for (int i = 0; i < 4; ++i) CHECK_FALSE(meter.begin_request(0, 0, at(0)));
  meter.set_limits(with(Limit::requests, 5));
  CHECK_FALSE(meter.begin_request(0, 0, at(0)));
  CHECK(meter.begin_request(0, 0, at(0)));
  meter.set_limits(with(Limit::requests_per_minute, 6));
  CHECK_FALSE(meter.begin_request(0, 0, at(0)));
  CHECK_FALSE(meter.begin_request(0, 0, at(0)));
  CHECK(meter.begin_request(0, 0, at(0)));
  meter.set_limits(with(Limit::concurrent, 3));
  CHECK(meter.begin_request(0, 0, at(0))->limit == Limit::concurrent);
}

TEST_CASE("a lifetime ends to the millisecond, and may be changed", "[meter]") {
  Meter meter(kBegan);
  meter.set_limits(with(Limit::lifetime, 90'000));
  CHECK_FALSE(meter.is_over(at(89'999)));
  REQUIRE(meter.is_over(at(90'000)));
  CHECK(meter.is_over(at(90'000))->sentence() == "lifetime: 90s is over");
  meter.set_limits(with(Limit::lifetime, 120'000));
  CHECK_FALSE(meter.is_over(at(90'000)));
}

TEST_CASE("workers that share a meter let through exactly the limit", "[meter]") {
  Meter meter(kBegan);
  Limits limits = with(Limit::requests, 1'000);
  limits.set(Limit::upload, 50'000);
  meter.set_limits(limits);
  std::atomic<int> passed{0};
  std::atomic<std::uint64_t> bytes{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      for (int k = 0; k < 1'000; ++k) {
        if (!meter.begin_request(0, 0, at(0))) ++passed;
        if (!meter.pass(Way::up, 25, at(0)).exceeded) bytes += 25;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  CHECK(bytes == 50'000);
  CHECK(passed <= 1'000);
  meter.set_limits(with(Limit::requests, 1'000));
  while (!meter.begin_request(0, 0, at(0))) ++passed;
  CHECK(passed == 1'000);
}

TEST_CASE("values are written as the configuration reads them", "[meter]") {
  CHECK(text_of(Limit::requests, 600) == "600");
  CHECK(text_of(Limit::upload, 3ULL << 30) == "3GiB");
  CHECK(text_of(Limit::upload, 65'536) == "64KiB");
  CHECK(text_of(Limit::upload, 1'025) == "1025B");
  CHECK(text_of(Limit::lifetime, 7'200'000) == "2h");
  CHECK(text_of(Limit::lifetime, 1'500) == "1500ms");
}
