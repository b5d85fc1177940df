#include "secrets/beside_placeholder.hpp"

#include "tests/support/catch.hpp"

using namespace warder;

namespace {
const Matcher kPlaceholders({"PLACEHOLDER0123456789abcdef"});
const std::string kPh = "PLACEHOLDER0123456789abcdef";
bool alone(const std::string& value) { return stands_alone_in_authorization(value, kPlaceholders); }
bool pair(const std::string& value) { return stands_alone_in_basic(value, kPlaceholders); }
}  // namespace

TEST_CASE("a placeholder stands alone in Authorization as the clients of the world write it") {
  for (const std::string& value :
       {kPh, " " + kPh, "Bearer " + kPh, "token " + kPh, "Bearer   " + kPh + " ",
        "Token token=" + kPh, "Token token=\"" + kPh + "\"", "GoogleLogin auth=" + kPh,
        "ApiKey user@corp.test:" + kPh, "SSWS " + kPh, "Key " + kPh, "Bot " + kPh,
        "Discogs token=" + kPh, "apikey " + kPh + ":"}) {
    INFO(value);
    CHECK(alone(value));
  }
}

TEST_CASE("a credential of the sandbox's own beside the placeholder is seen") {
  for (const std::string& value :
       {"OAuth oauth_token=\"attacker\", x=\"" + kPh + "\"", "Bearer attackers-key, Bearer " + kPh,
        "Digest username=\"a\", response=\"b\", opaque=\"" + kPh + "\"",
        "Bearer attackerkey0123456789 " + kPh, "Bearer " + kPh + " attackerkey",
        "Bearer " + kPh + "," + kPh, "Bearer ghp_attackersown0123456789abcdefghijklm:" + kPh,
        "ghp_attackersown0123456789abcdef " + kPh, "Bearer a=b:" + kPh, "Bearer a;b=" + kPh,
        "Bearer " + kPh + ":attackers-own-password"}) {
    INFO(value);
    CHECK_FALSE(alone(value));
  }
  CHECK_FALSE(alone("Bearer none"));
}

TEST_CASE("the user's name beside a placeholder in Basic is no key") {
  for (const std::string& user : {"x-access-token", "oauth2", "__token__", "me@corp.test", ""}) {
    INFO(user);
    CHECK(pair(user + ":" + kPh));
  }
  CHECK(pair(kPh + ":"));
  CHECK(pair(kPh + ":x-oauth-basic"));
  CHECK(pair(kPh));
  CHECK_FALSE(pair("sk_live_attackersown0123456789:" + kPh));
  CHECK_FALSE(pair("ghp_attackersown0123456789abcdefghijklm:" + kPh));
  CHECK_FALSE(pair(std::string(129, 'a') + ":" + kPh));
}
