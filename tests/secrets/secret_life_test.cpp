#include "secrets/secret_life.hpp"

#include "tests/support/catch.hpp"

using namespace warder;
using namespace std::chrono_literals;

namespace {

const SourceTime kStart{};

Reading says(std::string_view value, SourceDuration lifetime = {}) {
  Reading reading = Reading::of(SecretValue(value));
  reading.lifetime = lifetime;
  return reading;
}
Reading gone(SourceDuration grace) {
  Reading reading = Reading::failed("it is away");
  reading.state = Reading::State::gone;
  reading.grace = grace;
  return reading;
}
std::string value_of(const SecretLife& life) {
  if (!life.value()) return "(none)";
  return life.value()->reveal([](std::string_view plain) { return std::string(plain); });
}

}  // namespace

TEST_CASE("another value is a rotation, the same value is nothing") {
  SecretLife life(says("value-one"), kStart);
  CHECK(value_of(life) == "value-one");
  CHECK(life.version() == 1);
  const auto same = life.take(says("value-one"), kStart + 1s);
  CHECK(same.event == SecretEvent::none);
  CHECK(same.warning.empty());
  CHECK(life.version() == 1);
  CHECK(life.take(says("value-two"), kStart + 2s).event == SecretEvent::rotated);
  CHECK(value_of(life) == "value-two");
  CHECK(life.version() == 2);
  CHECK_FALSE(life.is_due(kStart + 1000h));
}

TEST_CASE("a source's own count is taken, as long as it grows") {
  Reading first = says("value-one");
  first.version = 7;
  SecretLife life(first, kStart);
  CHECK(life.version() == 7);
  Reading next = says("value-two");
  next.version = 9;
  life.take(next, kStart);
  CHECK(life.version() == 9);
  Reading anew = says("value-three");  // removed and set again
  anew.version = 1;
  life.take(anew, kStart);
  CHECK(life.version() == 10);
}

TEST_CASE("what is good for a time is read again before it ends") {
  SecretLife life(says("value-one", 100s), kStart);
  CHECK_FALSE(life.is_due(kStart + 74s));
  CHECK(life.is_due(kStart + 75s));
  CHECK(life.take(says("value-one", 100s), kStart + 75s).event == SecretEvent::none);
  CHECK_FALSE(life.is_due(kStart + 149s));
  CHECK(life.pass(kStart + 174s).event == SecretEvent::none);
  CHECK(value_of(life) == "value-one");
}

TEST_CASE(
    "a failing source keeps its value until that is too old, then it is unavailable, then it is "
    "back") {
  SecretLife life(says("value-one", 100s), kStart);
  const auto failed = life.take(Reading::failed("no answer"), kStart + 75s);
  CHECK(failed.event == SecretEvent::none);
  CHECK(failed.warning.find("no answer") != std::string::npos);
  // Said once.
  CHECK(life.take(Reading::failed("no answer"), kStart + 77s).warning.empty());
  CHECK(value_of(life) == "value-one");
  CHECK(life.pass(kStart + 99s).event == SecretEvent::none);
  const auto too_old = life.pass(kStart + 100s);
  CHECK(too_old.event == SecretEvent::unavailable);
  CHECK(too_old.warning.find("no answer") != std::string::npos);
  CHECK(value_of(life) == "(none)");
  CHECK(life.last_value() != nullptr);
  CHECK_FALSE(life.is_revoked());
  CHECK(life.pass(kStart + 101s).event == SecretEvent::none);
  CHECK(life.take(says("value-one", 100s), kStart + 110s).event == SecretEvent::restored);
  CHECK(value_of(life) == "value-one");
  CHECK(life.version() == 1);
}

TEST_CASE("a failing source is tried again after 1, 2, 4 … 30 seconds, for ever") {
  SecretLife life(says("value-one", 10s), kStart);
  auto now = kStart + 8s;
  for (const auto pause : {1s, 2s, 4s, 8s, 16s, 30s, 30s, 30s}) {
    life.take(Reading::failed("no answer"), now);
    life.pass(now);
    CHECK_FALSE(life.is_due(now + pause - 1ms));
    CHECK(life.is_due(now + pause));
    now += pause;
  }
  CHECK(life.take(says("value-two", 10s), now).event == SecretEvent::restored);
  life.take(Reading::failed("no answer"), now + 8s);
  CHECK(life.is_due(now + 9s));
}

TEST_CASE("what comes back within the grace was never away") {
  SecretLife life(says("value-one"), kStart);
  CHECK(life.take(gone(5s), kStart).event == SecretEvent::none);
  CHECK(life.pass(kStart + 4999ms).event == SecretEvent::none);
  CHECK(value_of(life) == "value-one");
  CHECK(life.take(says("value-two"), kStart + 4999ms).event == SecretEvent::rotated);
  CHECK(life.pass(kStart + 60s).event == SecretEvent::none);
}

TEST_CASE("what stays away is revoked, once, at the end of the grace that began first") {
  SecretLife life(says("value-one"), kStart);
  life.take(gone(5s), kStart);
  life.take(gone(5s), kStart + 4s);
  CHECK(life.pass(kStart + 5s).event == SecretEvent::revoked);
  CHECK(value_of(life) == "(none)");
  CHECK(life.is_revoked());
  CHECK(life.take(gone(5s), kStart + 6s).event == SecretEvent::none);
  CHECK(life.pass(kStart + 60s).event == SecretEvent::none);
  CHECK(life.take(says("value-two"), kStart + 61s).event == SecretEvent::restored);
  CHECK_FALSE(life.is_revoked());
}

TEST_CASE("without grace what is gone is revoked at once") {
  SecretLife life(says("value-one"), kStart);
  CHECK(life.take(gone({}), kStart).event == SecretEvent::revoked);
}

TEST_CASE("no warning holds a value") {
  SecretLife life(says("value-one", 10s), kStart);
  std::string all;
  all += life.take(Reading::failed("no answer"), kStart + 8s).warning;
  all += life.pass(kStart + 10s).warning;
  all += life.take(says("value-two", 10s), kStart + 11s).warning;
  all += life.take(gone({}), kStart + 12s).warning;
  CHECK(all.find("value-") == std::string::npos);
}
