#include "secrets/live_secrets.hpp"

#include "tests/secrets/session.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

std::shared_ptr<const SecretValue> value(std::string_view plain) {
  return std::make_shared<const SecretValue>(plain);
}

std::string masked(const LiveSecrets& live, std::string text) {
  live.now()->mask_set().mask(text);
  return text;
}

struct Live {
  std::vector<Credential> credentials{test::credential("tok", "value-one", "PLACEHOLDER-of-tok")};
  LiveSecrets live{std::make_shared<const SessionSecrets>(credentials, std::vector<Grant>())};
};

}  // namespace

TEST_CASE("set: the next version, no value for now, and a value again; all of them stay masked") {
  Live of;
  CHECK(of.live.set("tok", value("value-two"), 5));
  CHECK(of.live.now()->credential("tok")->version == 5);
  CHECK(of.live.set("tok", nullptr, 5));
  CHECK(of.live.now()->credential("tok")->value == nullptr);
  CHECK_FALSE(of.live.now()->credential("tok")->is_revoked);
  const std::string both = "value-one value-two";
  CHECK(masked(of.live, both) == "PLACEHOLDER-of-tok PLACEHOLDER-of-tok");
  CHECK(of.live.set("tok", value("value-two"), 5));
  CHECK(of.live.now()->credential("tok")->former.size() == 1);  // not the value that it has
  CHECK(masked(of.live, both) == "PLACEHOLDER-of-tok PLACEHOLDER-of-tok");
  CHECK(of.live.revocations() == 0);
  CHECK_FALSE(of.live.set("none", value("value-two"), 1));
  CHECK(of.live.revoke("tok"));
  CHECK_FALSE(of.live.set("tok", value("value-three"), 6));
}

TEST_CASE("attack: no former value is forgotten; one that changed too often is revoked instead") {
  Live of;
  const auto name = [](std::size_t i) { return "value-" + std::to_string(1000 + i); };
  std::size_t i = 0;
  while (!of.live.now()->credential("tok")->is_revoked && i < 1000)
    of.live.set("tok", value(name(i++)), 2);
  CHECK(i == LiveSecrets::kMostFormer + 1);  // its first value, these, and the one that it has
  CHECK(of.live.now()->credential("tok")->value == nullptr);
  CHECK(of.live.revocations() == 1);
  CHECK(masked(of.live, "value-one") == "PLACEHOLDER-of-tok");
  for (std::size_t each = 0; each < i; ++each)
    CHECK(masked(of.live, name(each)) == "PLACEHOLDER-of-tok");
  CHECK_FALSE(of.live.set("tok", value(name(i)), 3));
}
