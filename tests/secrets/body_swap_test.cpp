#include "secrets/body_swap.hpp"

#include <boost/json.hpp>

#include "base/encoding.hpp"
#include "secrets/json_places.hpp"
#include "tests/secrets/session.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using namespace warder::test;
namespace json = boost::json;

namespace {

const std::string kOdd = "a\"b\\c+d&e=f#g/h %i;\xc3\xbc.REAL<x>";
const std::string kPlain =
    "ghp_REALabcdefghijklmnopqrstuvwxyz012345";  // as long as its placeholder
constexpr const char* kJson = "application/json";
constexpr const char* kForm = "application/x-www-form-urlencoded";

const Place kBody{Place::Kind::body, ""};
Place json_at(std::string pointer) { return {Place::Kind::body_json, std::move(pointer)}; }
Place form_at(std::string key) { return {Place::Kind::body_form, std::move(key)}; }

RequestHead post(const std::string& type, const std::vector<HeaderField>& fields = {}) {
  RequestHead head;
  head.method = "POST";
  head.target = "/v1";
  if (!type.empty()) head.fields.add("Content-Type", type);
  for (const HeaderField& field : fields) head.fields.add(field.name, field.value);
  return head;
}

BodyPlan plan_of(const SessionSecrets& secrets, const std::string& type, const SwapPlan& swap = {},
                 const Authority& where = at("api.test")) {
  return std::get<BodyPlan>(plan_body(post(type), where, secrets, swap));
}

struct Outcome {
  std::string out;  // what left before it was refused, or all
  std::string refused;
  std::string counts;
  bool operator==(const Outcome&) const = default;
};
std::ostream& operator<<(std::ostream& to, const Outcome& o) {
  return to << o.out << " | " << o.refused << " | " << o.counts;
}

std::string said(const SwapRefusal& refused) {
  CHECK_FALSE(refused.suggestion.empty());
  CHECK(refused.suggestion.find("REAL") == std::string::npos);
  std::string text(to_string(refused.reason));
  for (const std::string& part : {refused.secret, refused.place})
    text += part.empty() ? "" : " " + part;
  return text;
}

Outcome through(const SessionSecrets& secrets, const BodyPlan& plan,
                const std::vector<std::string_view>& pieces) {
  BodySwap swap(secrets, plan);
  Outcome outcome;
  const auto step = [&](bool good, const WipedBytes& out) {
    if (good) outcome.out += as_view(out);
    CHECK(good == !swap.refusal().has_value());
    return good;
  };
  bool good = true;
  for (const std::string_view piece : pieces) {
    WipedBytes out;
    good = step(swap.feed(piece, out), out);
    if (!good) break;
  }
  WipedBytes rest;
  if (good) good = step(swap.finish(rest), rest);
  if (!good) outcome.refused = said(*swap.refusal());
  for (const BodySwap::Count& each : swap.take_counts()) {
    outcome.counts += (outcome.counts.empty() ? "" : " ") + each.name + "@" + each.place + "*" +
                      std::to_string(each.count);
  }
  return outcome;
}

// In every split the same; no placeholder leaves, whatever comes of it.
Outcome pass(const SessionSecrets& secrets, const BodyPlan& plan, const std::string& body) {
  const Outcome whole = through(secrets, plan, {body});
  at_every_split(body, [&](const auto& pieces) {
    const Outcome cut = through(secrets, plan, pieces);
    CHECK(cut.refused == whole.refused);
    CHECK(cut.counts == whole.counts);
    if (whole.refused.empty()) {
      REQUIRE(cut.out == whole.out);
    } else {
      for (const Credential& credential : secrets.credentials())
        CHECK(cut.out.find(credential.placeholder) == std::string::npos);
    }
  });
  return whole;
}

Outcome swapped(std::string out, std::string counts) {
  return {std::move(out), "", std::move(counts)};
}

std::string unicode(const std::string& text, bool upper = false) {
  std::string out;
  for (const char c : text) {
    std::string hex = hex_encode(as_bytes({&c, 1}));
    if (upper)
      std::transform(hex.begin(), hex.end(), hex.begin(),
                     [](char d) { return d >= 'a' ? static_cast<char>(d - 32) : d; });
    out += "\\u00" + hex;
  }
  return out;
}
std::string percent(const std::string& text) {
  std::string out;
  for (const char c : text) out += "%" + hex_encode(as_bytes({&c, 1}));
  return out;
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

const std::string kOddJson = "a\\\"b\\\\c+d&e=f#g/h %i;\xc3\xbc.REAL<x>";
const std::string kOddPercent = "a%22b%5Cc%2Bd%26e%3Df%23g%2Fh%20%25i%3B%C3%BC.REAL%3Cx%3E";

}  // namespace

TEST_CASE("BR-055, BR-057: a JSON field is swapped wherever it is cut, the value escaped") {
  const Session session(kOdd, {json_at("/auth/token")});
  const BodyPlan plan = plan_of(session.secrets, "Application/JSON; charset=utf-8");
  const auto doc = [](const std::string& token) {
    return "{ \"a\":[1,{\"token\":\"x\"},\"\\\"\"],\r\n \"auth\" : {\"tok\":-1.5e3, \"token\" "
           ":\t\"" +
           token + "\", \"z\":null} , \"token\":true}\n";
  };
  CHECK(pass(session.secrets, plan, doc(session.ph)) ==
        swapped(doc(kOddJson), "github@body:json:/auth/token*1"));
  CHECK(pass(session.secrets, plan, doc("Bearer " + session.ph + "!")) ==
        swapped(doc("Bearer " + kOddJson + "!"), "github@body:json:/auth/token*1"));
  CHECK(pass(session.secrets, plan, doc("")) == swapped(doc(""), ""));
  CHECK(json::parse(doc(kOddJson)).at("auth").at("token").as_string() == kOdd);
}

TEST_CASE(
    "BR-054: a placeholder in JSON's own spelling is swapped at its place, a tripwire elsewhere") {
  const Session session({json_at("/t")});
  BodyPlan plan = plan_of(session.secrets, kJson);
  plan.keeps_length = false;
  for (const std::string& spelt : {unicode(session.ph), unicode(session.ph, true),
                                   unicode(session.ph.substr(0, 1)) + session.ph.substr(1),
                                   session.ph.substr(0, 9) + unicode(session.ph.substr(9))}) {
    CHECK(pass(session.secrets, plan, "{\"t\":\"" + spelt + "\"}") ==
          swapped("{\"t\":\"" + session.value + "\"}", "github@body:json:/t*1"));
    CHECK(pass(session.secrets, plan, "{\"\\u0074\":\"" + spelt + "\"}").counts ==
          "github@body:json:/t*1");
    for (const std::string& body : {"{\"u\":\"" + spelt + "\"}", "{\"" + spelt + "\":1}",
                                    "[\"" + spelt + "\"]", "{\"a\":{\"t\":\"" + spelt + "\"}}",
                                    "\"" + spelt + "\"", "{\"t\":[\"" + spelt + "\"]}"}) {
      const Outcome refused = pass(session.secrets, plan, body);
      CHECK(refused.refused == "placeholder_wrong_place github body");
      CHECK(refused.counts.empty());
    }
  }
  // With a length already said, what would change it is refused.
  plan.keeps_length = true;
  CHECK(pass(session.secrets, plan, "{\"t\":\"" + unicode(session.ph) + "\"}").refused ==
        "body_unswappable github body");
  CHECK(pass(session.secrets, plan, "{\"t\":\"" + session.ph + "\"}").refused.empty());
}

TEST_CASE("BR-054, BR-055: a form's key, however it is spelt") {
  const Session session(kOdd, {form_at("api key")});
  const BodyPlan plan = plan_of(session.secrets, kForm);
  CHECK_FALSE(plan.keeps_length);
  for (const std::string key : {"api+key", "api%20key", "%61pi+key"}) {
    for (const std::string& spelt : {session.ph, percent(session.ph)}) {
      CHECK(pass(session.secrets, plan, "a=%41+&" + key + "=" + spelt + "&&b==&c") ==
            swapped("a=%41+&" + key + "=" + kOddPercent + "&&b==&c", "github@body:form:api key*1"));
      CHECK(pass(session.secrets, plan, key + "=Bearer+" + spelt) ==
            swapped(key + "=Bearer+" + kOddPercent, "github@body:form:api key*1"));
    }
  }
  for (const std::string& body :
       {"api=" + session.ph, "Api+key=" + session.ph, "x=api+key=" + session.ph, session.ph + "=1",
        "api+key=&" + session.ph, "b=" + percent(session.ph), "api+key" + session.ph + "=1"})
    CHECK(pass(session.secrets, plan, body).refused == "placeholder_wrong_place github body");
}

TEST_CASE("anywhere in a body, escaped for its type") {
  const Session session(kOdd, {kBody});
  CHECK(pass(session.secrets, plan_of(session.secrets, "text/plain"), "key: " + session.ph + "!") ==
        swapped("key: " + kOdd + "!", "github@body*1"));
  CHECK(pass(session.secrets, plan_of(session.secrets, ""), session.ph) ==
        swapped(kOdd, "github@body*1"));
  CHECK(pass(session.secrets, plan_of(session.secrets, "multipart/form-data; boundary=b"),
             "--b\r\n\r\n" + session.ph + "\r\n--b--") ==
        swapped("--b\r\n\r\n" + kOdd + "\r\n--b--", "github@body*1"));
  CHECK(pass(session.secrets, plan_of(session.secrets, "application/vnd.x+json"),
             "[\"\\n" + session.ph + "\"]") ==
        swapped("[\"\\n" + kOddJson + "\"]", "github@body*1"));
  CHECK(
      pass(session.secrets, plan_of(session.secrets, kJson), "[\"" + unicode(session.ph) + "\"]") ==
      swapped("[\"" + kOddJson + "\"]", "github@body*1"));
  CHECK(pass(session.secrets, plan_of(session.secrets, kForm), "a=" + percent(session.ph)) ==
        swapped("a=" + kOddPercent, "github@body*1"));
  // Two types are read in two ways.
  RequestHead two = post(kJson, {{"Content-Type", "text/plain"}});
  const auto plan = std::get<BodyPlan>(plan_body(two, at("api.test"), session.secrets, {}));
  CHECK(plan.format == BodyPlan::Format::other);
}

TEST_CASE("what is no JSON, or lies behind it, is not swapped") {
  const Session session({json_at("/t"), json_at("/a/0/b")});
  BodyPlan plan = plan_of(session.secrets, kJson);
  const std::string at_t = "\"t\":\"" + session.ph + "\"";
  for (const std::string& body :
       {"{x," + at_t + "}", "{} {" + at_t + "}", "{}\n{" + at_t + "}", "[}{" + at_t + "}",
        "\xef\xbb\xbf{" + at_t + "}", "{'a':1," + at_t + "}", "{\"a\":\"\n\"," + at_t + "}",
        "{\"a\":\"\\x\"," + at_t + "}", "{\"a\":\"\\u00g0\"," + at_t + "}",
        "{\"a\":1,," + at_t + "}", "{\"a\" 1," + at_t + "}", "{," + at_t + "}",
        "{\"t\":\"" + session.ph, "{\"t\":\"" + session.ph + "\n\"}", "{\"a\":[]]," + at_t + "}"}) {
    CAPTURE(body);
    CHECK(pass(session.secrets, plan, body).refused == "placeholder_wrong_place github body");
  }
  CHECK(pass(session.secrets, plan,
             "{\"a\":[{\"c\":[1,2],\"b\":\"" + session.ph + "\"},{\"b\":\"x\"}]}")
            .counts == "github@body:json:/a/0/b*1");
  CHECK(pass(session.secrets, plan, "{\"a\":[1,{\"b\":\"" + session.ph + "\"}]}").refused ==
        "placeholder_wrong_place github body");
  const std::string deep(JsonPlaces::kMaxDepth, '[');
  CHECK(through(session.secrets, plan, {deep + "[{" + at_t})
            .refused.starts_with("placeholder_wrong_place"));
}

TEST_CASE("BR-062: without a body place nothing in a body is swapped, whatever the head's places") {
  const Session session;
  CHECK(plan_of(session.secrets, kJson).empty());
  CHECK(plan_messages(at("api.test"), session.secrets).empty());
  const Session only_json({json_at("/t")});
  for (const char* type : {"text/plain", "", kForm, "application/x-ndjson", "application/jsonp"})
    CHECK(plan_of(only_json.secrets, type).empty());
  CHECK(plan_of(only_json.secrets, kJson, {}, at("other.test")).empty());
  CHECK(plan_of(only_json.secrets, kJson, {}, at("api.test", Scheme::http)).empty());
  RequestHead trace = post(kJson);
  trace.method = "OPTIONS";
  CHECK(std::get<BodyPlan>(plan_body(trace, at("api.test"), only_json.secrets, {})).empty());
}

TEST_CASE("BR-043: a coded body is refused where a place in it is granted, and only there") {
  const Session session({json_at("/t")});
  const auto answer = [&](const std::string& type, const std::string& coding) {
    return plan_body(post(type, {{"Content-Encoding", coding}}), at("api.test"), session.secrets,
                     {});
  };
  for (const char* coding : {"gzip", "zstd", "br", "deflate", "identity, gzip", "aws-chunked"})
    CHECK(said(std::get<SwapRefusal>(answer(kJson, coding))) == "body_unswappable body:json:/t");
  CHECK(std::holds_alternative<BodyPlan>(answer(kJson, "Identity")));
  CHECK(std::holds_alternative<BodyPlan>(answer("text/plain", "gzip")));
}

TEST_CASE("one secret once: of head and body, of two places, of duplicate keys") {
  const Session session({json_at("/t"), json_at("/u"), {Place::Kind::header, "x-api-key"}});
  const BodyPlan plan = plan_of(session.secrets, kJson);
  const std::string field = "\"" + session.ph + "\"";
  for (const std::string& body :
       {"{\"t\":" + field + ",\"u\":" + field + "}", "{\"t\":" + field + ",\"t\":" + field + "}",
        "{\"t\":\"" + session.ph + session.ph + "\"}"})
    CHECK(pass(session.secrets, plan, body).refused == "placeholder_wrong_place github body");
  const SwapPlan head{{{"github", 1, "header:x-api-key"}}};
  const BodyPlan spent = plan_of(session.secrets, kJson, head);
  CHECK(spent.uses.empty());
  CHECK(pass(session.secrets, spent, "{\"t\":" + field + "}").refused ==
        "placeholder_wrong_place github body");
  CHECK(pass(session.secrets, spent, "{\"t\":\"mine\"}").refused ==
        "foreign_credential body:json:/t");
  Grant twice = grant("github", "api.test", {json_at("/t"), kBody});
  twice.max = 2;
  const OneGrant two(twice);
  const BodyPlan more = plan_of(two.secrets, kJson);
  CHECK(pass(two.secrets, more, "{\"t\":\"" + two.ph + "\",\"x\":\"" + two.ph + "\"}").counts ==
        "github@body:json:/t*1 github@body*1");
  CHECK(pass(two.secrets, more, "{\"t\":\"" + two.ph + two.ph + "\",\"x\":\"" + two.ph + "\"}")
            .refused == "placeholder_wrong_place github body");
}

TEST_CASE("a credential of the sandbox's own at a granted place: refused, taken off, or let be") {
  Grant what = grant("github", "api.test", {json_at("/t"), form_at("t")});
  const std::vector<std::pair<std::string, std::string>> own{
      {kJson, "{\"a\":\"b\",\"t\":\"attackers-key\",\"c\":1}"},
      {kJson, "{\"a\":\"b\",\"t\":12345,\"c\":1}"},
      {kForm, "a=b&t=attackers-key&c=1"}};
  const OneGrant refuse(what);
  for (const auto& [type, body] : own) {
    const Outcome got = pass(refuse.secrets, plan_of(refuse.secrets, type), body);
    CHECK(got.refused.starts_with("foreign_credential body:"));
  }
  for (const std::string empty :
       {"{\"t\":\"\"}", "{\"t\":null}", "{\"t\":false}", "{\"t\":{}}", "{}"})
    CHECK(pass(refuse.secrets, plan_of(refuse.secrets, kJson), empty) == swapped(empty, ""));
  CHECK(pass(refuse.secrets, plan_of(refuse.secrets, kForm), "t=&a") == swapped("t=&a", ""));
  what.foreign = Grant::Foreign::strip;
  const OneGrant strip(what);
  CHECK_FALSE(plan_of(strip.secrets, kJson).keeps_length);
  CHECK(pass(strip.secrets, plan_of(strip.secrets, kJson), own[0].second) ==
        swapped("{\"a\":\"b\",\"t\":\"\",\"c\":1}", "foreign:stripped@body:json:/t*1"));
  CHECK(pass(strip.secrets, plan_of(strip.secrets, kJson), own[1].second) ==
        swapped("{\"a\":\"b\",\"t\":null,\"c\":1}", "foreign:stripped@body:json:/t*1"));
  CHECK(pass(strip.secrets, plan_of(strip.secrets, kForm), own[2].second) ==
        swapped("a=b&t=&c=1", "foreign:stripped@body:form:t*1"));
  what.foreign = Grant::Foreign::pass;
  const OneGrant let(what);
  for (const auto& [type, body] : own)
    CHECK(pass(let.secrets, plan_of(let.secrets, type), body).out == body);
}

TEST_CASE("a value at a place that is longer than any secret is refused, not held") {
  const Session session({json_at("/t")});
  const BodyPlan plan = plan_of(session.secrets, kJson);
  const std::string body = "{\"t\":\"" + std::string(BodySwap::kMaxValue + 1, 'x') + "\"}";
  CHECK(through(session.secrets, plan, {body}).refused == "body_unswappable body:json:/t");
  const std::string elsewhere = "{\"u\":\"" + std::string(BodySwap::kMaxValue + 1, 'x') + "\"}";
  CHECK(through(session.secrets, plan, {elsewhere}) == swapped(elsewhere, ""));
}

TEST_CASE("BR-056: of overlapping placeholders the longest counts, in bodies too") {
  for (const int order : {0, 1}) {
    std::vector<Credential> credentials{credential("a", "sk-stub-PH_1", "sk-stub-PH"),
                                        credential("b", "sk-stub-REALB", "sk-stub-PH_1")};
    if (order == 1) std::swap(credentials[0], credentials[1]);
    const SessionSecrets secrets(
        std::move(credentials),
        {grant("a", "api.test", {kBody}), grant("b", "api.test", {{Place::Kind::header, "x-b"}})});
    const BodyPlan plan = plan_of(secrets, "text/plain");
    CHECK(pass(secrets, plan, "n: sk-stub-PH, n") ==
          swapped("n: sk-stub-PH_1, n", "a@body*1"));  // a's value, b's placeholder
    CHECK(pass(secrets, plan, "n: sk-stub-PH_2") == swapped("n: sk-stub-PH_1_2", "a@body*1"));
    CHECK(pass(secrets, plan, "n: sk-stub-PH_1").refused == "placeholder_wrong_place b body");
    CHECK(pass(secrets, plan, "n: sk-stub-PH").counts == "a@body*1");
  }
}

TEST_CASE("BR-057: false starts, the last bytes, and one behind the other") {
  const Session session(kPlain, {kBody});
  const BodyPlan plan = plan_of(session.secrets, "text/plain");
  CHECK(plan.keeps_length);
  const std::string start = session.ph.substr(0, 8);
  CHECK(pass(session.secrets, plan, start + session.ph + start) ==
        swapped(start + session.value + start, "github@body*1"));
  CHECK(pass(session.secrets, plan, start + start + session.ph) ==
        swapped(start + start + session.value, "github@body*1"));
  CHECK(pass(session.secrets, plan, session.ph + session.ph).refused ==
        "placeholder_wrong_place github body");
}

TEST_CASE("BR-059: a secret without a value, or revoked, is never left as its placeholder") {
  std::vector<Credential> credentials{{"gone", 1, nullptr, "PH-gone-0123456789"},
                                      credential("old", "REAL-old-value", "PH-old-0123456789")};
  credentials[1].is_revoked = true;
  const SessionSecrets secrets(std::move(credentials), {grant("gone", "api.test", {kBody}),
                                                        grant("old", "api.test", {kBody})});
  const BodyPlan plan = plan_of(secrets, "text/plain");
  CHECK(plan.uses.empty());
  CHECK(pass(secrets, plan, "a PH-gone-0123456789").refused == "secret_unavailable gone body");
  CHECK(pass(secrets, plan, "a PH-old-0123456789").refused == "secret_revoked old body");
}

TEST_CASE(
    "another session's placeholder is foreign in every spelling, our own in the same table is "
    "not") {
  Session session(kPlain, {json_at("/t"), kBody});
  const std::string theirs = "ghp_theirs0123456789theirs0123456789abcd";
  session.secrets.set_foreign(
      std::make_shared<const Matcher>(std::vector<std::string>{theirs, session.ph}), {1});
  BodyPlan plan = plan_of(session.secrets, kJson);
  plan.keeps_length = false;
  for (const std::string& spelt : {theirs, unicode(theirs)}) {
    CHECK(pass(session.secrets, plan, "{\"t\":\"" + spelt + "\"}").refused ==
          "placeholder_foreign body");
    CHECK(pass(session.secrets, plan, "{\"u\":\"" + spelt + "\"}").refused ==
          "placeholder_foreign body");
    CHECK(pass(session.secrets, plan, "{\"u\":\"" + session.ph + spelt + "\"}").refused ==
          "placeholder_foreign body");
  }
  CHECK(pass(session.secrets, plan, "{\"t\":\"" + session.ph + "\"}").counts ==
        "github@body:json:/t*1");
}

TEST_CASE("gRPC: in a message's bytes where the lengths agree, never in a compressed one") {
  const auto message = [](char flag, const std::string& bytes) {
    std::string out{flag, 0, 0, static_cast<char>(bytes.size() >> 8),
                    static_cast<char>(bytes.size())};
    return out + bytes;
  };
  const Session session(kPlain, {kBody});
  const BodyPlan plan = plan_of(session.secrets, "application/grpc+proto");
  const std::string before = message(0, "") + message(1, "\x1f\x8b") + message(0, "\x0a\x28");
  CHECK(pass(session.secrets, plan, before + message(0, "\x0a\x28" + session.ph + "\x12")) ==
        swapped(before + message(0, "\x0a\x28" + session.value + "\x12"), "github@body*1"));
  CHECK(pass(session.secrets, plan, before + message(1, session.ph)).refused ==
        "placeholder_wrong_place github body");
  // What the messages are does not make the body JSON.
  CHECK(plan_of(session.secrets, "application/grpc+json").format == BodyPlan::Format::grpc);
  // Across two messages it is nobody's.
  const std::string cut = message(0, session.ph.substr(0, 9)) + message(0, session.ph.substr(9));
  CHECK(pass(session.secrets, plan, cut) == swapped(cut, ""));
  const Session other(std::string("REAL1234"), {kBody});
  const BodyPlan unequal = plan_of(other.secrets, "application/grpc");
  CHECK(unequal.keeps_length);
  CHECK(pass(other.secrets, unequal, message(0, other.ph)).refused ==
        "body_unswappable github body");
}

TEST_CASE("whether a length can change is known from the head") {
  const Session same(kPlain, {json_at("/t")});
  CHECK(plan_of(same.secrets, kJson).keeps_length);
  CHECK(plan_of(same.secrets, kJson).uses == std::vector<SecretUse>{{"github", 1, "body:json:/t"}});
  const Session shorter(std::string("REAL1234"), {json_at("/t")});
  CHECK_FALSE(plan_of(shorter.secrets, kJson).keeps_length);
  const Session odd(kOdd, {kBody});
  CHECK_FALSE(plan_of(odd.secrets, kJson).keeps_length);
  CHECK(plan_of(odd.secrets, "text/plain").keeps_length == (odd.ph.size() == odd.value.size()));
}

namespace {

json::value random_value(SeededRandom& random, int depth) {
  const auto text = [&] {
    return random.text(random.below(7), "ab\"\\/\n\t~0 \x01u") +
           (random.below(4) == 0 ? "\xc3\xbc" : "");
  };
  switch (random.below(depth > 3 ? 5 : 7)) {
    case 0: return json::value(nullptr);
    case 1: return json::value(static_cast<std::int64_t>(random.next() >> 8));
    case 2: return json::value(random.below(2) == 0);
    case 3: return json::value(0.5 * random.below(1000));
    case 4: return json::string(text());
    case 5: {
      json::array array;
      for (std::uint32_t n = random.below(4); n > 0; --n)
        array.push_back(random_value(random, depth + 1));
      return array;
    }
    default: {
      json::object object;
      for (std::uint32_t n = random.below(4); n > 0; --n)
        object[text()] = random_value(random, depth + 1);
      return object;
    }
  }
}

// Somewhere in it a new string; its pointer.
std::string plant(SeededRandom& random, json::value& root, const std::string& text) {
  std::string pointer;
  json::value* at = &root;
  for (;;) {
    std::string token;
    if (at->is_object()) {
      auto& object = at->get_object();
      const bool deeper = !object.empty() && random.below(3) != 0;
      auto chosen = object.begin();
      if (deeper) chosen += random.below(static_cast<std::uint32_t>(object.size()));
      token = deeper ? std::string(chosen->key()) : "k/~\"" + random.text(2, kAlnum);
      at = deeper ? &chosen->value() : &object[token];
    } else if (at->is_array()) {
      auto& array = at->get_array();
      const auto index = random.below(static_cast<std::uint32_t>(array.size() + 1));
      if (index == array.size()) array.emplace_back(nullptr);
      token = std::to_string(index);
      at = &array[index];
    } else {
      *at = json::string(text);
      return pointer;
    }
    pointer += '/';
    for (const char c : token) pointer += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
}

}  // namespace

TEST_CASE("property: the origin parses the same document, but for the value at the pointer") {
  SeededRandom random(54);
  std::size_t planted = 0;
  for (int round = 0; round < 3000; ++round) {
    json::value doc = random_value(random, 0);
    if (!doc.is_object() && !doc.is_array()) doc = json::object{};
    const std::string around = random.text(random.below(4), "a\"\\\n");
    SeededRandom again(56);
    const std::string ph = make_placeholder(kOdd, again);
    const std::string pointer = plant(random, doc, around + ph + around);
    const Session session(kOdd, {json_at(pointer)});
    REQUIRE(session.ph == ph);
    const std::string body = json::serialize(doc);
    CAPTURE(body, pointer);
    const BodyPlan plan = plan_of(session.secrets, kJson);
    const std::size_t size = 1 + random.below(40);
    std::vector<std::string_view> pieces;
    for (std::size_t at = 0; at < body.size(); at += size)
      pieces.push_back(std::string_view(body).substr(at, size));
    const Outcome got = through(session.secrets, plan, pieces);
    REQUIRE(got.refused.empty());
    REQUIRE(got.counts == "github@body:json:" + pointer + "*1");
    doc.at_pointer(pointer) = json::string(around + kOdd + around);
    REQUIRE(json::parse(got.out) == doc);
    ++planted;
  }
  CHECK(planted == 3000);
}

TEST_CASE("property: a form's other pairs are the same bytes, its value decodes to the secret") {
  SeededRandom random(55);
  const Session session(kOdd, {form_at("k y")});
  const BodyPlan plan = plan_of(session.secrets, kForm);
  for (int round = 0; round < 2000; ++round) {
    const auto noise = [&] {
      std::string out;
      for (std::uint32_t n = random.below(4); n > 0; --n)
        out += random.text(random.below(4), "xab%=+2") + "=" +
               random.text(random.below(6), "a%=+20;") + "&";
      return out;
    };
    const std::string before = noise();
    std::string after = noise();
    after = after.empty() ? "" : "&" + after;
    const auto body = [&](const std::string& value) { return before + "k+y=" + value + after; };
    const std::string text = body(random.below(2) == 0 ? session.ph : percent(session.ph));
    CAPTURE(text);
    const std::size_t size = 1 + random.below(20);
    std::vector<std::string_view> pieces;
    for (std::size_t at = 0; at < text.size(); at += size)
      pieces.push_back(std::string_view(text).substr(at, size));
    const Outcome got = through(session.secrets, plan, pieces);
    REQUIRE(got.refused.empty());
    REQUIRE(got.out == body(kOddPercent));
  }
}

TEST_CASE("a JSON pointer is what RFC 6901 says") {
  using Tokens = std::vector<std::string>;
  CHECK(parse_json_pointer("/a~1b/~0~01/").value() == Tokens{"a/b", "~~1", ""});
  for (const char* bad : {"", "a", "/~", "/~2", "#/a"}) CHECK_FALSE(parse_json_pointer(bad));
}
