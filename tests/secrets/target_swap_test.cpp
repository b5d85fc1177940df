// Swaps in query and path, what lets a grant be told otherwise (foreign, plain_http, max), signatures.
#include "base/encoding.hpp"
#include "http/target.hpp"
#include "secrets/placeholder.hpp"
#include "secrets/swap.hpp"
#include "tests/secrets/session.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {

// What no parser may take for a part of what surrounds it.
const std::string kOdd = "a\"b\\c+d&e=f#g/h %i;\xc3\xbc.REAL<x>";
const std::string kOddPercent = "a%22b%5Cc%2Bd%26e%3Df%23g%2Fh%20%25i%3B%C3%BC.REAL%3Cx%3E";
const Place kQuery{Place::Kind::query, "key"};
const Place kPath{Place::Kind::path, ""};

RequestHead get(std::string target, const std::vector<HeaderField>& fields = {}) {
  RequestHead head;
  head.method = "GET";
  head.target = std::move(target);
  for (const HeaderField& field : fields) head.fields.add(field.name, field.value);
  return head;
}

std::string decide(const RequestHead& head, const SessionSecrets& secrets,
                   const Authority& where = at("api.test")) {
  const auto answer = plan_swap(head, where, secrets);
  if (const auto* refused = std::get_if<SwapRefusal>(&answer))
    return std::string(to_string(refused->reason)) + " " + refused->place;
  std::string text;
  for (const SecretUse& use : std::get<SwapPlan>(answer).uses)
    text += (text.empty() ? "" : " ") + use.secret + "@" + use.place;
  for (const ForeignCredential& own : std::get<SwapPlan>(answer).foreign)
    text += " " + std::string(to_string(own.what)) + "@" + own.place;
  return text;
}

// The target that leaves; afterwards nothing of the value is in the head.
std::string target_of(const std::string& target, const SessionSecrets& secrets) {
  RequestHead head = get(target);
  const auto answer = plan_swap(head, at("api.test"), secrets);
  INFO(target << " " << decide(head, secrets));
  REQUIRE(std::holds_alternative<SwapPlan>(answer));
  const SwapPlan& plan = std::get<SwapPlan>(answer);
  carry_out_swap(head, plan, secrets);
  const std::string leaves = head.target;
  wipe_swapped(head, plan);
  CHECK(head.target.find("REAL") == std::string::npos);
  CHECK(secret_fields(plan) == std::vector<std::string>{":path"});
  return leaves;
}

struct OneGrant {
  explicit OneGrant(Grant with, std::string secret = kOdd)
      : value(std::move(secret)),
        ph(make_placeholder(value, random)),
        secrets({credential("github", value, ph)}, {std::move(with)}) {}
  SeededRandom random{56};
  std::string value;
  std::string ph;
  SessionSecrets secrets;
};

std::string percent_of(const std::string& text) {
  std::string out;
  for (const char c : text) out += "%" + hex_encode(as_bytes({&c, 1}));
  return out;
}

}  // namespace

TEST_CASE("BR-052, BR-055: a query value is swapped, escaped once, and all else stays as sent") {
  const Session session(kOdd, {kQuery});
  CHECK(target_of("/v1?key=" + session.ph + "&x=1", session.secrets) ==
        "/v1?key=" + kOddPercent + "&x=1");
  CHECK(target_of("/v1%2Fa//?b=%7e+%&key=" + session.ph + "&&=&key2=a%20b", session.secrets) ==
        "/v1%2Fa//?b=%7e+%&key=" + kOddPercent + "&&=&key2=a%20b");
  CHECK(target_of("/?key=" + percent_of(session.ph), session.secrets) == "/?key=" + kOddPercent);
  CHECK(target_of("/?k%65y=Bearer%20" + session.ph + ".x", session.secrets) ==
        "/?k%65y=Bearer%20" + kOddPercent + ".x");
  CHECK(target_of("https://api.test/v1?key=" + session.ph, session.secrets) ==
        "https://api.test/v1?key=" + kOddPercent);
  CHECK(decide(get("/?key=" + session.ph), session.secrets) == "github@query:key");
}

TEST_CASE("BR-052: any other key, and the same one twice, is a tripwire") {
  const Session session({kQuery});
  const auto refused = [&](const std::string& target) {
    return decide(get(target), session.secrets);
  };
  CHECK(refused("/?Key=" + session.ph) == "placeholder_wrong_place query:Key");
  CHECK(refused("/?key2=" + session.ph) == "placeholder_wrong_place query:key2");
  CHECK(refused("/?" + session.ph + "=key") == "placeholder_wrong_place target");
  CHECK(refused("/?x=key=" + session.ph) == "placeholder_wrong_place query:x");
  CHECK(refused("/" + session.ph + "?key=1") == "placeholder_wrong_place path");
  CHECK(refused("/?key=" + session.ph + "&key=" + session.ph) ==
        "placeholder_wrong_place query:key");
  CHECK(refused("/?key=" + session.ph + "&x=%25" + percent_of(session.ph).substr(1)) ==
        "placeholder_wrong_place target");
  CHECK(decide(get("/?key=" + session.ph, {{"Authorization", session.ph}}), session.secrets)
            .starts_with("placeholder_wrong_place"));
  CHECK(decide(get("/?key=" + session.ph), session.secrets, at("other.test")) ==
        "placeholder_wrong_host query:key");
  CHECK(decide(get("/?key=" + session.ph), session.secrets, at("api.test", Scheme::http)) ==
        "placeholder_wrong_place query:key");
}

TEST_CASE("a key is compared as decoded, a plus is a space") {
  const Session session({{Place::Kind::query, "api key"}});
  for (const char* key : {"api+key", "api%20key", "%61pi%20key"})
    CHECK(target_of("/?" + (key + ("=" + session.ph)), session.secrets) ==
          "/?" + (key + ("=" + session.value)));
}

TEST_CASE("a path segment holds a placeholder, whole or in part; the value stays one segment") {
  const Session session(kOdd, {kPath});
  CHECK(target_of("/bot" + session.ph + "/getMe?a=b", session.secrets) ==
        "/bot" + kOddPercent + "/getMe?a=b");
  CHECK(target_of("/a%2Fb/" + percent_of(session.ph), session.secrets) == "/a%2Fb/" + kOddPercent);
  CHECK(decide(get("/?key=" + session.ph), session.secrets) == "placeholder_wrong_place query:key");
  CHECK(decide(get("/" + session.ph + "/" + session.ph), session.secrets) ==
        "placeholder_wrong_place path");
}

TEST_CASE("a value never makes a dot segment of the path that was judged") {
  for (const std::string value : {"../../REAL", "REAL/../..", "REAL\\..\\x", "%2e%2e%2fREAL",
                                  "x/..;a=REAL", "%252e%252e/REAL"}) {
    const Session session(value, {kPath, kQuery});
    CAPTURE(value);
    CHECK(decide(get("/" + session.ph), session.secrets) == "placeholder_wrong_place path");
    CHECK(decide(get("/?key=" + session.ph), session.secrets) == "github@query:key");
  }
  for (const std::string value : {"........", "..REAL..", "REAL....", "a...REAL"}) {
    const Session session(value, {kPath});
    CHECK(decide(get("/" + session.ph + "/x"), session.secrets) == "github@path");
    CHECK_FALSE(is_ambiguous_path("/" + value + "/x"));
  }
}

TEST_CASE("a short target that holds a value is on the heap, so that moving it leaves no copy") {
  const Session session(std::string("REAL1234"), {kPath});
  RequestHead head = get("/" + session.ph);
  const auto plan = std::get<SwapPlan>(plan_swap(head, at("api.test"), session.secrets));
  carry_out_swap(head, plan, session.secrets);
  CHECK(head.target == "/REAL1234");
  CHECK(head.target.capacity() > 15);
}

TEST_CASE("a query pair of the sandbox's own is refused where a grant names its key") {
  const Session session({kQuery});
  const auto refused = [&](const std::string& target) {
    return decide(get(target), session.secrets);
  };
  CHECK(refused("/?key=attackers") == "foreign_credential query:key");
  CHECK(refused("/?key=" + session.ph + "&key=attackers") == "foreign_credential query:key");
  CHECK(refused("/?x=1;key=attackers") == "foreign_credential query:key");
  CHECK(refused("/?k%65y=attackers") == "foreign_credential query:key");
  CHECK(refused("/?key=&x=2").empty());
  CHECK(refused("/?key").empty());
  CHECK(refused("/?Key=attackers").empty());
  CHECK(decide(get("/?key=attackers"), session.secrets, at("other.test")).empty());
}

TEST_CASE("foreign: strip takes the credential off, pass lets it be, the strictest grant wins") {
  Grant grant_ = grant("github", "api.test", {kQuery, {Place::Kind::header, "x-api-key"}});
  grant_.foreign = Grant::Foreign::strip;
  const OneGrant strip(grant_);
  const std::vector<HeaderField> own{{"X-Api-Key", "mine"},
                                     {"A", "b"},
                                     {"x_api_key", "mine too"},
                                     {"Authorization", "Bearer mine"}};
  RequestHead head = get("/?a=1&key=mine&b=%20&key=more", own);
  CHECK(decide(head, strip.secrets) ==
        " strip@header:x-api-key strip@header:x_api_key strip@header:authorization"
        " strip@query:key strip@query:key");
  const auto plan = std::get<SwapPlan>(plan_swap(head, at("api.test"), strip.secrets));
  strip_foreign(head.fields, plan);
  CHECK(head.fields.size() == 1);
  CHECK(head.fields.find("a")->value == "b");
  CHECK(strip_foreign(head.target, plan) == "/?a=1&b=%20");
  CHECK(strip_foreign(std::string("/?key=mine&key=m"), plan) == "/?key=mine");
  // What only some servers read as a pair cannot be taken off.
  CHECK(decide(get("/?x=1;key=mine"), strip.secrets) == "foreign_credential query:key");

  grant_.foreign = Grant::Foreign::pass;
  const OneGrant pass(grant_);
  CHECK(decide(get("/?key=mine", {{"X-Api-Key", "mine"}}), pass.secrets) ==
        " pass@header:x-api-key pass@query:key");
  const auto kept =
      std::get<SwapPlan>(plan_swap(get("/?key=mine", own), at("api.test"), pass.secrets));
  HeaderList fields = get("/", own).fields;
  strip_foreign(fields, kept);
  CHECK(fields.size() == own.size());
  CHECK(strip_foreign(std::string("/?key=mine"), kept) == "/?key=mine");

  const SessionSecrets both({credential("github", kOdd, pass.ph)},
                            {grant_, grant("github", "*.test", {kQuery})});
  CHECK(decide(get("/?key=mine"), both) == "foreign_credential query:key");
  CHECK(decide(get("/", {{"X-Api-Key", "mine"}}), both) == " pass@header:x-api-key");
}

TEST_CASE("clear text only with plain_http, max only as far as it goes") {
  Grant grant_ = grant("github", "api.test", {kQuery, {Place::Kind::header, "x-api-key"}});
  grant_.plain_http = true;
  grant_.max = 2;
  const OneGrant session(grant_);
  const Authority clear = at("api.test", Scheme::http);
  CHECK(decide(get("/?key=" + session.ph), session.secrets, clear) == "github@query:key");
  CHECK(decide(get("/?x=" + session.ph), session.secrets, clear) ==
        "placeholder_wrong_place query:x");
  CHECK(decide(get("/?key=" + session.ph), session.secrets, at("api.test", Scheme::tcp)) ==
        "placeholder_wrong_place query:key");
  CHECK(decide(get("/?key=" + session.ph, {{"X-Api-Key", session.ph}}), session.secrets) ==
        "github@query:key github@header:x-api-key");
  CHECK(decide(get("/?key=" + session.ph + session.ph, {{"X-Api-Key", session.ph}}),
               session.secrets) == "placeholder_wrong_place query:key");
}

TEST_CASE("BR-061: what is signed with a placeholder is refused here, not by the origin") {
  const Session session(
      {{Place::Kind::header, "authorization"}, {Place::Kind::query, "X-Amz-Credential"}});
  for (const std::string scheme : {"AWS4-HMAC-SHA256 Credential=", "aws4-hmac-sha256 Credential=",
                                   "AWS4-ECDSA-P256-SHA256 Credential=", "AWS "}) {
    const RequestHead head = get(
        "/b/k", {{"Authorization", scheme + session.ph + "/20261130/us-east-1/s3/aws4_request"}});
    CHECK(decide(head, session.secrets) == "placeholder_wrong_place header:authorization");
  }
  CHECK(decide(get("/b/k?X-Amz-Credential=" + session.ph + "%2F20261130"), session.secrets) ==
        "placeholder_wrong_place query:X-Amz-Credential");
}

TEST_CASE("BR-059: a secret without a value refuses its place in the target too") {
  std::vector<Credential> credentials{{"gone", 1, nullptr, "PH-gone-0123456789"}};
  const SessionSecrets secrets(std::move(credentials),
                               {grant("gone", "api.test", {kQuery, kPath})});
  CHECK(decide(get("/?key=PH-gone-0123456789"), secrets) == "secret_unavailable query:key");
  CHECK(decide(get("/PH-gone-0123456789"), secrets) == "secret_unavailable path");
}
