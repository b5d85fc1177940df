#include "secrets/swap.hpp"

#include "base/encoding.hpp"
#include "secrets/placeholder.hpp"
#include "tests/secrets/session.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {

using Fields = std::vector<HeaderField>;

RequestHead request(const Fields& fields, std::string method = "GET", std::string target = "/v1") {
  RequestHead head;
  head.method = std::move(method);
  head.target = std::move(target);
  for (const HeaderField& field : fields) head.fields.add(field.name, field.value);
  return head;
}

// "secret@place …" or "reason secret place".
std::string decision(const std::variant<SwapPlan, SwapRefusal>& answer) {
  if (const auto* refused = std::get_if<SwapRefusal>(&answer)) {
    CHECK_FALSE(refused->suggestion.empty());
    CHECK(refused->suggestion.find("REAL") == std::string::npos);
    std::string text(to_string(refused->reason));
    for (const std::string& part : {refused->secret, refused->place})
      text += part.empty() ? "" : " " + part;
    return text;
  }
  std::string text;
  for (const SecretUse& use : std::get<SwapPlan>(answer).uses) {
    text += (text.empty() ? "" : " ") + use.secret + "@" + use.place;
  }
  return text;
}

std::string decide(const RequestHead& head, const SessionSecrets& secrets,
                   const Authority& where = at("api.test")) {
  return decision(plan_swap(head, where, secrets));
}

// What the origin gets; the head must be empty of values after the wipe.
RequestHead sent(RequestHead head, const SessionSecrets& secrets) {
  const auto answer = plan_swap(head, at("api.test"), secrets);
  INFO(decision(answer));
  REQUIRE(std::holds_alternative<SwapPlan>(answer));
  const SwapPlan& plan = std::get<SwapPlan>(answer);
  carry_out_swap(head, plan, secrets);
  RequestHead after = head;
  wipe_swapped(head, plan);
  for (const HeaderField& field : head.fields) {
    CHECK(field.value.find("REAL") == std::string::npos);
    CHECK(field.value.find(base64_encode("REAL").substr(0, 5)) == std::string::npos);
  }
  return after;
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

std::string basic(std::string_view pair) { return base64_encode(pair); }

}  // namespace

TEST_CASE("a placeholder becomes the value where its grant says, and nothing else changes") {
  const Session session;
  const RequestHead before = request({{"Host", "api.test"},
                                      {"aUTHorization", "token " + session.ph},
                                      {"X-Note", "a,  b"},
                                      {"X-Note", ""}});
  CHECK(decide(before, session.secrets) == "github@header:authorization");
  const RequestHead after = sent(before, session.secrets);
  const std::vector<HeaderField> expected{{"Host", "api.test"},
                                          {"aUTHorization", "token " + session.value},
                                          {"X-Note", "a,  b"},
                                          {"X-Note", ""}};
  CHECK(std::vector<HeaderField>(after.fields.begin(), after.fields.end()) == expected);
  CHECK(after.target == before.target);
}

TEST_CASE(
    "every default place works, the scheme word and what surrounds the placeholder are kept") {
  const Session session;
  for (const char* name :
       {"Authorization", "X-Api-Key", "api-key", "X-Goog-Api-Key", "PRIVATE-TOKEN"}) {
    const auto after = sent(request({{name, session.ph}}), session.secrets);
    CHECK(after.fields.find(name)->value == session.value);
  }
  for (const char* lead : {"Bearer ", "token ", "bearer  ", "Token token="}) {
    const auto after = sent(request({{"Authorization", lead + session.ph}}), session.secrets);
    CHECK(after.fields.find("authorization")->value == lead + session.value);
  }
}

TEST_CASE("BR-013: an unfolded value is swapped, whatever white space the fold left") {
  const Session session;
  for (const char* blank : {" ", "   ", "\t ", " \t"}) {
    const auto after =
        sent(request({{"Authorization", "Bearer" + (blank + session.ph)}}), session.secrets);
    CHECK(after.fields.find("authorization")->value == "Bearer" + (blank + session.value));
    const auto pair =
        sent(request({{"Authorization", "Basic" + (blank + basic("u:" + session.ph))}}),
             session.secrets);
    CHECK(pair.fields.find("authorization")->value ==
          "Basic" + (blank + basic("u:" + session.value)));
  }
}

TEST_CASE("BR-050: a placeholder inside a Basic pair is found, swapped and encoded again") {
  const Session session;
  for (const char* scheme : {"Basic ", "basic ", "BASIC  ", "BaSiC \t"}) {
    for (const auto& [user, password] :
         {std::pair<std::string, std::string>{"x-access-token", session.ph},
          {"u", session.ph},
          {session.ph, ""},
          {session.ph, "x-oauth-basic"},
          {session.ph, session.ph},
          {"", session.ph},
          {"u", "a:b:" + session.ph + ":c"},
          {"\xc3\xbc", session.ph}}) {
      const std::string pair = user + ":" + password;
      CAPTURE(scheme, pair);
      const RequestHead head = request({{"Authorization", scheme + basic(pair)}});
      CHECK(decide(head, session.secrets) == "github@basic");
      std::string expected = pair;
      for (auto i = expected.find(session.ph); i != std::string::npos;
           i = expected.find(session.ph)) {
        expected.replace(i, session.ph.size(), session.value);
      }
      CHECK(sent(head, session.secrets).fields.find("authorization")->value ==
            scheme + basic(expected));
    }
  }
}

TEST_CASE(
    "BR-050: alphabet and padding of a Basic pair stay as sent, also when the length changes") {
  const Session session(std::string("REAL1234"));  // its placeholder is longer
  REQUIRE(session.ph.size() > session.value.size());
  for (const std::string user : {"", "u", "us", "use"}) {
    const std::string pair = user + ":" + session.ph;
    const std::string real = user + ":" + session.value;
    for (const auto alphabet : {Base64Alphabet::standard, Base64Alphabet::url}) {
      for (const auto padding : {Base64Padding::yes, Base64Padding::no}) {
        const std::string as_sent = base64_encode(pair, alphabet, padding);
        const auto after = sent(request({{"Authorization", "Basic " + as_sent}}), session.secrets);
        const bool none = padding == Base64Padding::no && as_sent.size() % 4 != 0;
        CHECK(after.fields.find("authorization")->value ==
              "Basic " + base64_encode(real, Base64Alphabet::standard,
                                       none ? Base64Padding::no : Base64Padding::yes));
      }
    }
  }
  const std::string odd =
      "\xff\xfe\xfb:" + session.ph;  // needs the two letters in which the alphabets differ
  const auto after =
      sent(request({{"Authorization",
                     "Basic " + base64_encode(odd, Base64Alphabet::url, Base64Padding::no)}}),
           session.secrets);
  const std::string value = after.fields.find("authorization")->value;
  CHECK(value.find_first_of("+/=") == std::string::npos);
  CHECK(base64_decode(value.substr(6)) == "\xff\xfe\xfb:" + session.value);
}

TEST_CASE("a grant for basic alone is for Basic pairs alone; one for authorization covers both") {
  const Session only_basic({{Place::Kind::basic, ""}});
  CHECK(decide(request({{"Authorization", "Basic " + basic("u:" + only_basic.ph)}}),
               only_basic.secrets) == "github@basic");
  CHECK(decide(request({{"Authorization", "Bearer " + only_basic.ph}}), only_basic.secrets) ==
        "placeholder_wrong_place github header:authorization");
  CHECK(decide(request({{"Authorization", "Basic " + only_basic.ph}}), only_basic.secrets) ==
        "placeholder_wrong_place github header:authorization");
  const Session only_key({{Place::Kind::header, "x-api-key"}});
  CHECK(decide(request({{"Authorization", "Basic " + basic("u:" + only_key.ph)}}),
               only_key.secrets) == "placeholder_wrong_place github basic");
}

TEST_CASE("base64 that only a lenient origin takes is seen and refused") {
  const Session session;
  const std::string good = basic("us:" + session.ph);
  REQUIRE(good.ends_with("=="));
  std::string stray = good.substr(0, good.size() - 2);
  stray.back() = static_cast<char>(stray.back() + 1);  // bits that strict decoders refuse
  for (const std::string& text :
       {stray, good + "=", good + " ", good.substr(0, 8) + " " + good.substr(8),
        good + ", Bearer x", "QQ==" + good, good.substr(0, 9) + "!" + good.substr(9)}) {
    CAPTURE(text);
    CHECK(decide(request({{"Authorization", "Basic " + text}}), session.secrets) ==
          "placeholder_wrong_place github header:authorization");
    CHECK(decide(request({{"Authorization", "Basic " + text}}), session.secrets,
                 at("other.test")) == "placeholder_wrong_host github header:authorization");
  }
}

TEST_CASE("a placeholder for another host is refused before its place is looked at") {
  const Session session;
  for (const RequestHead& head :
       {request({{"Authorization", "Bearer " + session.ph}}), request({{"Cookie", session.ph}}),
        request({}, "GET", "/?k=" + session.ph),
        request({{"X-Api-Key", session.ph}, {"Cookie", session.ph}}),
        request({{"Authorization", "Basic " + basic(session.ph + ":")}}),
        request({{"Authorization", session.ph}}, "TRACE")}) {
    CHECK(decide(head, session.secrets, at("evil.test"))
              .starts_with("placeholder_wrong_host github"));
    CHECK(decide(head, session.secrets, at("evil.test", Scheme::http))
              .starts_with("placeholder_wrong_host"));
  }
  // Grants for one secret say nothing of another.
  CHECK(decide(request({{"Authorization", "Bearer " + session.other_ph}}), session.secrets) ==
        "placeholder_wrong_host openai header:authorization");
}

TEST_CASE("a placeholder anywhere but in its places is a tripwire") {
  const Session session;
  const auto wrong = [](const char* place) {
    return std::string("placeholder_wrong_place github ") + place;
  };
  CHECK(decide(request({{"X-Custom", session.ph}}), session.secrets) == wrong("header:x-custom"));
  CHECK(decide(request({{"X_Api_Key", session.ph}}), session.secrets) == wrong("header:x_api_key"));
  CHECK(decide(request({{session.ph, "x"}}), session.secrets) == wrong("field name"));
  CHECK(decide(request({}, session.ph), session.secrets) == wrong("method"));
  CHECK(decide(request({{"Proxy-Authorization", session.ph}}), session.secrets) ==
        wrong("header:proxy-authorization"));
  CHECK(decide(request({{"Proxy-Authorization", "Basic " + basic("u:" + session.ph)}}),
               session.secrets) == wrong("header:proxy-authorization"));
  std::string percent;
  std::string twice;
  for (const char c : session.ph) {
    percent += "%" + hex_encode(as_bytes({&c, 1}));
    twice += "%25" + hex_encode(as_bytes({&c, 1}));
  }
  for (const auto& [target, place] : std::vector<std::pair<std::string, const char*>>{
           {"/?key=" + session.ph, "query:key"},
           {"/" + session.ph + "/x", "path"},
           {"/?k=" + percent, "query:k"},
           {"/?k=%67" + session.ph.substr(1), "query:k"},
           {"/?a%1bb=" + session.ph, "query"},
           {"/?k=" + twice, "target"},
           {"https://api.test/?" + session.ph, "target"},
           {"/?k=%" + percent + "%", "query:k"}}) {
    CAPTURE(target);
    CHECK(decide(request({}, "GET", target), session.secrets) == wrong(place));
  }
}

TEST_CASE("BR-062: what servers reflect never holds a value, not even by a grant") {
  std::vector<Place> places;
  const char* const names[] = {"host",         "cookie",      "user-agent",
                               "origin",       "referer",     "x-forwarded-for",
                               "x-request-id", "traceparent", "access-control-request-headers"};
  for (const char* name : names) places.push_back({Place::Kind::header, name});
  const Session session(places);
  for (const char* name : names) {
    CHECK(is_reflection_prone(name));
    CHECK(decide(request({{name, "a " + session.ph}}), session.secrets) ==
          "placeholder_wrong_place github header:" + std::string(name));
  }
  CHECK(is_reflection_prone("X_Forwarded_Proto"));
  CHECK(is_reflection_prone("USER-AGENT"));
  for (const Place& place : default_places()) CHECK_FALSE(is_reflection_prone(place.name));
  const Session proxy({{Place::Kind::header, "proxy-authorization"}});
  CHECK(decide(request({{"Proxy-Authorization", proxy.ph}}), proxy.secrets) ==
        "placeholder_wrong_place github header:proxy-authorization");
}

TEST_CASE("clear text, TRACE and OPTIONS carry no secret") {
  const Session session;
  const RequestHead head = request({{"Authorization", "Bearer " + session.ph}});
  CHECK(decide(head, session.secrets, at("api.test", Scheme::http))
            .starts_with("placeholder_wrong_place"));
  CHECK(decide(head, session.secrets, at("api.test", Scheme::tcp))
            .starts_with("placeholder_wrong_place"));
  for (const char* method : {"TRACE", "OPTIONS"}) {
    CHECK(decide(request({{"Authorization", session.ph}}, method), session.secrets) ==
          "placeholder_wrong_place github header:authorization");
    CHECK(decide(request({{"Accept", "x"}}, method), session.secrets).empty());
  }
}

TEST_CASE("one request holds a secret once; the two parts of a Basic pair count as one place") {
  const Session session;
  const std::string once = "Bearer " + session.ph;
  for (const Fields& fields :
       {Fields{{"Authorization", once}, {"X-Api-Key", session.ph}},
        Fields{{"Authorization", once + session.ph}},
        Fields{{"Authorization", once}, {"Authorization", once}},
        Fields{{"Authorization", "Basic " + basic("u:" + session.ph + session.ph)}},
        Fields{{"Authorization", "Basic " + basic(session.ph + ":" + session.ph)},
               {"X-Api-Key", session.ph}}}) {
    const auto answer = plan_swap(request(fields), at("api.test"), session.secrets);
    CHECK(decision(answer).starts_with("placeholder_wrong_place github"));
    CHECK(std::get<SwapRefusal>(answer).suggestion.find("in one place, once") != std::string::npos);
  }
}

TEST_CASE(
    "BR-056: of overlapping placeholders the longest counts, and a value put in is not swapped "
    "again") {
  for (const int order : {0, 1}) {
    std::vector<Credential> credentials{credential("a", "sk-stub-PH_1", "sk-stub-PH"),
                                        credential("b", "sk-stub-REALB", "sk-stub-PH_1")};
    if (order == 1) std::swap(credentials[0], credentials[1]);
    const SessionSecrets secrets(std::move(credentials),
                                 {grant("a", "api.test", {{Place::Kind::header, "x-a"}}),
                                  grant("b", "api.test", {{Place::Kind::header, "x-b"}})});
    const auto after = sent(request({{"X-A", "sk-stub-PH"}, {"X-B", "sk-stub-PH_1"}}), secrets);
    CHECK(after.fields.find("x-a")->value == "sk-stub-PH_1");  // a's value, b's placeholder
    CHECK(after.fields.find("x-b")->value == "sk-stub-REALB");
    CHECK(decide(request({{"X-A", "sk-stub-PH_1"}}), secrets) ==
          "placeholder_wrong_place b header:x-a");
    CHECK(decide(request({{"X-B", "sk-stub-PH_2"}}), secrets) ==
          "placeholder_wrong_place a header:x-b");
  }
}

TEST_CASE("two secrets of one host go to one field when both are granted there") {
  std::vector<Credential> credentials{credential("id", "REAL-id-value", "PH-id-0123456789"),
                                      credential("key", "REAL-key-value", "PH-key-0123456789")};
  const SessionSecrets secrets(std::move(credentials),
                               {grant("id", "api.test"), grant("key", "api.test")});
  const auto after =
      sent(request({{"Authorization", "Basic " + basic("PH-id-0123456789:PH-key-0123456789")}}),
           secrets);
  CHECK(after.fields.find("authorization")->value ==
        "Basic " + basic("REAL-id-value:REAL-key-value"));
}

TEST_CASE("a text that is a placeholder and decodes to another is swapped in neither way") {
  std::vector<Credential> credentials{credential("id", "REAL-id-value", "PHid0123456789ABCDEF"),
                                      credential("key", "REAL-key-value", "PHkey0123456789ABCDE")};
  const SessionSecrets secrets(std::move(credentials),
                               {grant("id", "api.test"), grant("key", "api.test")});
  const std::string both = basic("u:PHid0123456789ABCDEFxx") + "PHkey0123456789ABCDE";
  REQUIRE(base64_decode(both));
  CHECK(decide(request({{"Authorization", "Basic " + both}}), secrets)
            .starts_with("placeholder_wrong_place id"));
}

TEST_CASE("a credential of the sandbox's own is refused on a host that has a grant") {
  const Session session;
  const std::string own = "Bearer " + session.ph;
  for (const Fields& fields :
       {Fields{{"Authorization", "Bearer attackers-key"}}, Fields{{"Authorization", ""}},
        Fields{{"authorization", "Basic " + basic("me:mine")}},
        Fields{{"Authorization", own}, {"Authorization", "Bearer attackers-key"}},
        Fields{{"Authorization", "Bearer attackers-key"}, {"Authorization", own}}}) {
    CHECK(decide(request(fields), session.secrets) == "foreign_credential header:authorization");
    CHECK(decide(request(fields), session.secrets, at("api.test", Scheme::http)) != "");
  }
  CHECK(decide(request({{"Authorization", own}, {"X-API-Key", "mine"}}), session.secrets) ==
        "foreign_credential header:x-api-key");
  CHECK(decide(request({{"X_Api_Key", "mine"}}), session.secrets) ==
        "foreign_credential header:x_api_key");
  CHECK(decide(request({{"Cookie", "a=b"}, {"X-Other-Key", "mine"}}), session.secrets).empty());
  // Another host: the sandbox may bring what it has.
  CHECK(decide(request({{"Authorization", "Bearer mine"}}), session.secrets, at("other.test"))
            .empty());
}

TEST_CASE("Authorization is watched on a granted host even when the grant names another place") {
  const Session session({{Place::Kind::header, "x-api-key"}});
  CHECK(decide(request({{"X-Api-Key", session.ph}, {"Authorization", "Bearer mine"}}),
               session.secrets) == "foreign_credential header:authorization");
  CHECK(decide(request({{"Private-Token", "mine"}}), session.secrets).empty());
}

TEST_CASE("another session's placeholder is told from a credential of unknown origin") {
  Session session;
  const std::string theirs = "ghp_theirs0123456789theirs0123456789abcd";
  const RequestHead head = request({{"Authorization", "Bearer " + theirs}});
  CHECK(decide(head, session.secrets, at("other.test")).empty());
  session.secrets.set_foreign(std::make_shared<const Matcher>(std::vector<std::string>{theirs}));
  CHECK(decide(head, session.secrets) == "placeholder_foreign header:authorization");
  CHECK(decide(head, session.secrets, at("other.test")) ==
        "placeholder_foreign header:authorization");
  CHECK(decide(request({{"Authorization", "Basic " + basic("u:" + theirs)}}), session.secrets) ==
        "placeholder_foreign basic");
  CHECK(decide(request({}, "GET", "/?" + theirs), session.secrets, at("other.test")) ==
        "placeholder_foreign target");
  // Our own placeholder beside it does not hide it.
  CHECK(decide(request({{"Authorization", session.ph}, {"X-Note", theirs}}), session.secrets) ==
        "placeholder_foreign header:x-note");
}

TEST_CASE("in the table that all sessions share a session's own placeholder is not foreign") {
  Session session;
  const std::string theirs = "ghp_theirs0123456789theirs0123456789abcd";
  const std::vector<std::string> all{theirs, session.ph};
  session.secrets.set_foreign(std::make_shared<const Matcher>(all), {1});
  CHECK(decide(request({{"Authorization", "Bearer " + session.ph}}), session.secrets)
            .find("foreign") == std::string::npos);
  CHECK(decide(request({{"Authorization", "Bearer " + theirs}}), session.secrets) ==
        "placeholder_foreign header:authorization");
  CHECK(decide(request({{"Authorization", session.ph}, {"X-Note", theirs}}), session.secrets) ==
        "placeholder_foreign header:x-note");
  std::string scratch;
  BodyTripwire own(session.secrets);
  (void)own.feed("x " + session.ph + " " + theirs, scratch);
  CHECK(own.reason() == Reason::placeholder_wrong_place);
  BodyTripwire other(session.secrets);
  (void)other.feed("x " + theirs + " " + session.ph, scratch);
  CHECK(other.reason() == Reason::placeholder_foreign);
}

TEST_CASE("a secret without a value refuses the request that needs it, and no other") {
  std::vector<Credential> credentials{{"gone", 1, nullptr, "PH-gone-0123456789"}};
  const SessionSecrets secrets(std::move(credentials), {grant("gone", "api.test")});
  CHECK(decide(request({{"Authorization", "PH-gone-0123456789"}}), secrets) ==
        "secret_unavailable gone header:authorization");
  CHECK(decide(request({}), secrets).empty());
}

TEST_CASE("a request without placeholders is left alone") {
  const Session session;
  RequestHead head = request({{"Accept", "*/*"}});
  CHECK(decide(head, session.secrets).empty());
  carry_out_swap(head, {}, session.secrets);
  wipe_swapped(head, {});
  CHECK(head.fields.find("accept")->value == "*/*");
  const SessionSecrets none({}, {});
  CHECK(decide(request({{"Authorization", "Bearer mine"}}), none).empty());
}

TEST_CASE("trailers carry no placeholder of anybody") {
  Session session;
  const auto trailers = [&](const std::string& name, const std::string& value) {
    HeaderList list;
    list.add(name, value);
    return decision(check_trailers(list, at("api.test"), session.secrets));
  };
  CHECK(trailers("X-Sum", "abc").empty());
  CHECK(trailers("Authorization", "Bearer " + session.ph) ==
        "placeholder_wrong_place github trailer");
  CHECK(trailers("Authorization", "Basic " + basic("u:" + session.ph)) ==
        "placeholder_wrong_place github trailer");
  CHECK(trailers(session.ph, "") == "placeholder_wrong_place github trailer");
  session.secrets.set_foreign(
      std::make_shared<const Matcher>(std::vector<std::string>{"another-sessions"}));
  CHECK(trailers("X-Sum", "another-sessions") == "placeholder_foreign trailer");
  // A field in which a credential could stand is the sandbox's own, whatever is in it.
  for (const char* name : {"X-Api-Key", "x_api_key", "Private-Token", "Authorization"})
    CHECK(trailers(name, "mine") == "foreign_credential trailer:" + lower(name));
  HeaderList list;
  list.add("X-Api-Key", "mine");
  CHECK(decision(check_trailers(list, at("other.test"), session.secrets)).empty());
}
