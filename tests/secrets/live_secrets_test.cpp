#include "secrets/live_secrets.hpp"

#include "secrets/swap.hpp"
#include "tests/secrets/session.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using warder::test::SeededRandom;

namespace {

constexpr const char* kOld = "ghp_OLDabcdefghijklmnopqrstuvwxyz012345";
constexpr const char* kNew = "ghp_NEWabcdefghijklmnopqrstuvwxyz012345";
constexpr const char* kPlaceholder = "ghp_PLACEHOLDERabcdefghijklmnopqrstuvwx";

std::shared_ptr<const SecretValue> value(const char* text) {
  return std::make_shared<const SecretValue>(text);
}

std::shared_ptr<const SessionSecrets> one(const char* text) {
  std::vector<Credential> credentials{{"github", 1, value(text), kPlaceholder}};
  std::vector<Grant> grants{{"github",
                             {std::get<HostPattern>(HostPattern::parse("api.test"))},
                             default_places(),
                             "test:1"}};
  return std::make_shared<const SessionSecrets>(std::move(credentials), std::move(grants));
}

std::string masked(const SessionSecrets& secrets, std::string text) {
  secrets.mask_set().mask(text);
  return text;
}

Reason planned(const SessionSecrets& secrets, const std::string& placeholder = kPlaceholder) {
  RequestHead head;
  head.method = "GET";
  head.target = "/";
  head.fields.add("Host", "api.test");
  head.fields.add("Authorization", "Bearer " + placeholder);
  const auto name = HostName::parse("api.test");
  const auto plan = plan_swap(head, Authority{Scheme::https, *name, 443}, secrets);
  const auto* refused = std::get_if<SwapRefusal>(&plan);
  return refused != nullptr ? refused->reason : Reason::none;
}

}  // namespace

TEST_CASE("a rotated value is swapped in behind the same placeholder, and both are masked") {
  LiveSecrets live(one(kOld));
  const auto before = live.now();
  REQUIRE(live.rotate("github", value(kNew)));
  const auto after = live.now();
  CHECK(after->credentials()[0].version == 2);
  CHECK(after->credentials()[0].placeholder == kPlaceholder);
  CHECK(after->credentials()[0].value->reveal([](std::string_view v) { return v == kNew; }));
  CHECK(masked(*after, std::string("<") + kOld + "|" + kNew + ">") ==
        std::string("<") + kPlaceholder + "|" + kPlaceholder + ">");
  CHECK(planned(*after) == Reason::none);
  // An exchange that began earlier still has what it began with.
  CHECK(before->credentials()[0].version == 1);
  CHECK(live.revocations() == 0);
}

TEST_CASE("a revoked secret's placeholder is a tripwire, and its values stay masked") {
  LiveSecrets live(one(kOld));
  REQUIRE(live.rotate("github", value(kNew)));
  REQUIRE(live.revoke("github"));
  const auto after = live.now();
  CHECK(planned(*after) == Reason::secret_revoked);
  CHECK(masked(*after, kOld) == kPlaceholder);
  CHECK(masked(*after, kNew) == kPlaceholder);
  CHECK(live.revocations() == 1);
  CHECK_FALSE(live.revoke("github"));
  CHECK_FALSE(live.rotate("github", value(kOld)));
  CHECK_FALSE(live.rotate("another", value(kOld)));
  CHECK(live.revocations() == 1);
}

TEST_CASE("the table of other sessions' placeholders outlives a change") {
  LiveSecrets live(one(kOld));
  const auto before = live.now();
  const std::string theirs = "ghp_THEIRSabcdefghijklmnopqrstuvwxyz012";
  before->set_foreign(std::make_shared<const Matcher>(std::vector<std::string>{theirs}));
  int changes = 0;
  live.on_change([&] { ++changes; });
  REQUIRE(live.rotate("github", value(kNew)));
  CHECK(live.now()->foreign().placeholders != nullptr);
  // Also one that is set through either snapshot later.
  before->set_foreign(nullptr);
  CHECK(live.now()->foreign().placeholders == nullptr);
  CHECK(changes == 1);
}

namespace {

LiveSecrets::Minted minted(std::string_view value, const std::string& name = "acme.access_token") {
  Grant grant{
      "", {std::get<HostPattern>(HostPattern::parse("other.test"))}, default_places(), "test:2"};
  return {name, value, {grant}, std::nullopt};
}

}  // namespace

TEST_CASE("a token that is minted becomes a secret of the session, with a placeholder") {
  SeededRandom random{7};
  LiveSecrets live(one(kOld));
  const auto placeholders =
      live.mint({minted(kNew), minted("another-token-0123456789", "acme.x")}, random);
  REQUIRE(placeholders.size() == 2);
  const auto now = live.now();
  REQUIRE(now->credentials().size() == 3);
  CHECK(now->credentials()[1].name == "acme.access_token");
  CHECK(now->credentials()[2].name == "acme.x");
  CHECK(now->grants_for(*HostName::parse("other.test")).size() == 2);
  CHECK(masked(*now, kNew) == placeholders[0]);
  CHECK(placeholders[0].size() == std::string(kNew).size());

  // The same value again keeps its placeholder, also where it is a configured secret's.
  CHECK(live.mint({minted(kNew), minted(kOld)}, random) ==
        std::vector<std::string>{placeholders[0], kPlaceholder});
  CHECK(live.now()->credentials().size() == 3);
  CHECK(live.mint({minted("yet-another-token-0123456")}, random)[0] != placeholders[0]);
  CHECK(live.now()->credentials()[3].name == "acme.access_token.2");
}

TEST_CASE("a token that has run out is refused so that its client refreshes it") {
  SeededRandom random{7};
  LiveSecrets live(one(kOld));
  const LiveSecrets::SteadyTime begin{std::chrono::hours(1)};
  auto first = minted(kNew);
  first.grants[0].hosts = {std::get<HostPattern>(HostPattern::parse("api.test"))};
  first.expires = begin + std::chrono::seconds(60);
  const std::string placeholder = live.mint({first}, random)[0];
  live.expire(begin + std::chrono::seconds(59));
  CHECK(planned(*live.now(), placeholder) == Reason::none);
  live.expire(begin + std::chrono::seconds(60));
  CHECK(planned(*live.now(), placeholder) == Reason::secret_expired);
  CHECK(masked(*live.now(), kNew) == placeholder);
  CHECK(planned(*live.now()) == Reason::none);
  CHECK(live.revocations() == 0);
}

namespace {

std::string token_number(std::size_t i) {
  return "token-number-" + std::to_string(1'000 + i) + "-abcdefgh";
}

}  // namespace

TEST_CASE("of too many minted tokens the oldest is over, and stays masked") {
  SeededRandom random{7};
  LiveSecrets live(one(kOld));
  const std::string first = live.mint({minted(token_number(0))}, random)[0];
  for (std::size_t i = 1; i < LiveSecrets::kMostMinted; ++i)
    live.mint({minted(token_number(i))}, random);
  CHECK(live.now()->grants().size() == LiveSecrets::kMostMinted + 1);
  const auto before = live.now();
  CHECK_FALSE(before->credential("acme.access_token")->is_revoked);

  live.mint({minted(token_number(LiveSecrets::kMostMinted))}, random);
  const Credential* oldest = live.now()->credential("acme.access_token");
  REQUIRE(oldest != nullptr);
  CHECK(oldest->is_revoked);
  CHECK(oldest->is_expired);
  CHECK(oldest->value == nullptr);
  CHECK(live.now()->grants().size() == LiveSecrets::kMostMinted + 1);
  for (std::size_t i = 0; i <= LiveSecrets::kMostMinted; ++i)
    CHECK(masked(*live.now(), token_number(i)) != token_number(i));
  CHECK(live.now()->credential("github")->value != nullptr);

  // Its origin gives it out again: the same placeholder is good again, and it is the youngest now.
  CHECK(live.mint({minted(token_number(0))}, random)[0] == first);
  CHECK_FALSE(live.now()->credential("acme.access_token")->is_revoked);
  CHECK(live.now()->credentials().back().name == "acme.access_token");
  CHECK(live.now()->grants().size() == LiveSecrets::kMostMinted + 1);
}

TEST_CASE(
    "more tokens than can go on being masked are not taken; those whose life is over make room") {
  SeededRandom random{7};
  LiveSecrets live(one(kOld));
  const LiveSecrets::SteadyTime begin{std::chrono::hours(1)};
  auto short_lived = minted(kNew);
  short_lived.expires = begin + std::chrono::seconds(60);
  live.mint({short_lived}, random);
  for (std::size_t i = 1; i < LiveSecrets::kMostMintedKept; ++i)
    REQUIRE_FALSE(live.mint({minted(token_number(i))}, random).empty());
  const auto before = live.now();
  CHECK(live.mint({minted(token_number(0))}, random).empty());
  CHECK(live.now() == before);
  CHECK(masked(*live.now(), kNew) != kNew);
  live.expire(begin + std::chrono::seconds(60));
  CHECK(masked(*live.now(), kNew) != kNew);
  CHECK_FALSE(live.mint({minted(token_number(0))}, random).empty());
  CHECK(masked(*live.now(), kNew) == kNew);
  CHECK(masked(*live.now(), token_number(1)) != token_number(1));

  LiveSecrets large(one(kOld));
  const std::size_t most = LiveSecrets::kMostMintedBytes / 16'000;
  for (std::size_t i = 0; i < most; ++i)
    REQUIRE_FALSE(
        large.mint({minted(std::to_string(i) + std::string(15'999, 'x'))}, random).empty());
  CHECK(large.mint({minted(std::string(16'000, 'y'))}, random).empty());
}
