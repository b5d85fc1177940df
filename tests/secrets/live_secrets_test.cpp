#include "secrets/live_secrets.hpp"

#include "secrets/swap.hpp"
#include "tests/secrets/session.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

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

Reason planned(const SessionSecrets& secrets) {
  RequestHead head;
  head.method = "GET";
  head.target = "/";
  head.fields.add("Host", "api.test");
  head.fields.add("Authorization", std::string("Bearer ") + kPlaceholder);
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

TEST_CASE("a secret that is minted joins the others") {
  LiveSecrets live(one(kOld));
  Grant grant{"minted",
              {std::get<HostPattern>(HostPattern::parse("other.test"))},
              default_places(),
              "test:2"};
  live.add({"minted", 1, value(kNew), "ghp_MINTEDabcdefghijklmnopqrstuvwxyz012"}, {grant});
  CHECK(live.now()->credentials().size() == 2);
  CHECK(live.now()->grants_for(*HostName::parse("other.test")).size() == 1);
  CHECK(masked(*live.now(), kNew) == "ghp_MINTEDabcdefghijklmnopqrstuvwxyz012");
}
