// What a flood of forbidden names leaves in the audit log: bounded, and counted to the last one.
#include "audit/burst.hpp"

#include "tests/support/catch.hpp"

using warder::audit::Burst;
using namespace std::chrono_literals;

namespace {
const Burst::Time kStart = Burst::Time() + 1000s;
}

TEST_CASE("the first 200 in ten seconds are recorded by themselves, further ones are counted") {
  Burst denied;
  for (int i = 0; i < 200; ++i) CHECK(denied.is_recorded_alone(kStart + i * 40ms));
  for (int i = 0; i < 57; ++i) CHECK_FALSE(denied.is_recorded_alone(kStart + 9s));
  CHECK(denied.take(kStart + 9'999ms) == 0);
  CHECK(denied.take(kStart + 10s) == 57);
  CHECK(denied.take(kStart + 11s) == 0);
  CHECK(denied.is_recorded_alone(kStart + 10s));
}

TEST_CASE("a flood makes one record a second, and none is lost") {
  Burst denied;
  std::uint64_t alone = 0;
  std::uint64_t together = 0;
  int records = 0;
  for (int ms = 0; ms < 60'000; ++ms) {
    const auto now = kStart + std::chrono::milliseconds(ms);
    alone += denied.is_recorded_alone(now) ? 1 : 0;
    if (const auto many = denied.take(now); many > 0) {
      together += many;
      ++records;
    }
  }
  CHECK(alone == 1200);
  CHECK(records >= 55);
  CHECK(records <= 60);
  CHECK(alone + together + denied.take_rest() == 60'000);
}

TEST_CASE("a quiet session is recorded name by name") {
  Burst denied;
  for (int i = 0; i < 10'000; ++i) CHECK(denied.is_recorded_alone(kStart + i * 51ms));
  CHECK(denied.take(kStart + 1h) == 0);
}

TEST_CASE("what could not be recorded is in the next record") {
  Burst denied;
  for (unsigned i = 0; i < Burst::kAlone; ++i) (void)denied.is_recorded_alone(kStart);
  CHECK_FALSE(denied.is_recorded_alone(kStart));
  CHECK(denied.take(kStart + 1s) == 1);
  denied.put_back(1);
  CHECK_FALSE(denied.is_recorded_alone(kStart + 1s));
  CHECK(denied.take(kStart + 2s) == 2);
  denied.put_back(2);
  CHECK(denied.take_rest() == 2);
}
