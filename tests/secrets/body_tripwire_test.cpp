#include "secrets/swap.hpp"
#include "tests/secrets/session.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using namespace warder::test;

namespace {

struct Outcome {
  std::string passed;
  Reason reason;
  std::string secret;
  bool operator==(const Outcome&) const = default;
};

Outcome through(const SessionSecrets& secrets, const std::vector<std::string_view>& pieces) {
  BodyTripwire tripwire(secrets);
  std::string scratch;
  std::string passed;
  for (const std::string_view piece : pieces) passed += tripwire.feed(piece, scratch);
  passed += tripwire.finish(scratch);
  CHECK(tripwire.hit() == (tripwire.reason() != Reason::none));
  return {passed, tripwire.reason(), tripwire.secret()};
}

}  // namespace

TEST_CASE("a body without placeholders passes whole and without a copy") {
  const Session session;
  BodyTripwire tripwire(session.secrets);
  std::string scratch;
  const std::string_view body = "{\"model\": \"x\"}";
  CHECK(tripwire.feed(body, scratch).data() == body.data());
  const std::string close =
      "a" + session.ph.substr(0, session.ph.size() - 1) + session.ph.substr(1);
  at_every_split(close, [&](const auto& pieces) {
    REQUIRE(through(session.secrets, pieces) == Outcome{close, Reason::none, ""});
  });
}

TEST_CASE("BR-062: a completed placeholder never leaves in a body, wherever it is cut") {
  const Session session;
  const std::string body = "{\"model\":\"ghp_" + session.ph + "\", and more " + session.ph + "}";
  at_every_split(body, [&](const auto& pieces) {
    REQUIRE(through(session.secrets, pieces) ==
            Outcome{"{\"model\":\"ghp_", Reason::placeholder_wrong_place, "github"});
  });
  at_every_split("x" + session.ph, [&](const auto& pieces) {
    REQUIRE(through(session.secrets, pieces) ==
            Outcome{"x", Reason::placeholder_wrong_place, "github"});
  });
}

TEST_CASE("another session's placeholder in a body is a tripwire of its own name") {
  Session session;
  const std::string theirs = "ghp_theirs0123456789theirs0123456789abcd";
  session.secrets.set_foreign(std::make_shared<const Matcher>(std::vector<std::string>{theirs}));
  at_every_split("ghp_" + theirs + session.ph, [&](const auto& pieces) {
    REQUIRE(through(session.secrets, pieces) == Outcome{"ghp_", Reason::placeholder_foreign, ""});
  });
  at_every_split(session.ph + theirs, [&](const auto& pieces) {
    REQUIRE(through(session.secrets, pieces) ==
            Outcome{"", Reason::placeholder_wrong_place, "github"});
  });
}

TEST_CASE("a tripwire keeps the table of foreign placeholders that it began with") {
  Session session;
  session.secrets.set_foreign(
      std::make_shared<const Matcher>(std::vector<std::string>{"theirs-01234567"}));
  BodyTripwire tripwire(session.secrets);
  std::string scratch;
  tripwire.feed("theirs-0", scratch);
  session.secrets.set_foreign(nullptr);
  tripwire.feed("1234567", scratch);
  CHECK(tripwire.reason() == Reason::placeholder_foreign);
}

TEST_CASE("of overlapping placeholders the longer one is named") {
  std::vector<Credential> credentials{credential("a", "REAL-of-a", "sk-stub-PH"),
                                      credential("b", "REAL-of-b", "sk-stub-PH_1")};
  const SessionSecrets secrets(std::move(credentials), {});
  at_every_split("1sk-stub-PH_1", [&](const auto& pieces) {
    REQUIRE(through(secrets, pieces) == Outcome{"1", Reason::placeholder_wrong_place, "b"});
  });
  at_every_split("1sk-stub-PH_2", [&](const auto& pieces) {
    REQUIRE(through(secrets, pieces) == Outcome{"1", Reason::placeholder_wrong_place, "a"});
  });
}
