// What is explained is what is decided.
#include "policy/explain.hpp"

#include <algorithm>
#include <random>
#include <set>

#include "policy/supposed_request.hpp"
#include "tests/policy/random_policy.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {

using Lacks = std::vector<Part>;

std::vector<std::string> names(const std::vector<const Rule*>& rules) {
  std::vector<std::string> out;
  for (const Rule* rule : rules) out.push_back(rule->name);
  return out;
}

Lacks lacks_of(const Explanation& explanation, const std::string& rule) {
  for (const NearMiss& miss : explanation.near) {
    if (miss.rule->name == rule) return miss.lacks;
  }
  return {};
}

SupposedRequest question(const std::string& url, const std::string& method = "GET") {
  SupposedRequest out = std::get<SupposedRequest>(read_supposed_request(url, method));
  REQUIRE(out.malformed == "");
  return out;
}

Explanation explained(const Policy& policy, const std::string& url,
                      const std::string& method = "GET") {
  return explain(policy, question(url, method).facts());
}

bool has_part(const Explanation& explanation, Part part) {
  return std::any_of(explanation.near.begin(), explanation.near.end(), [&](const NearMiss& miss) {
    return miss.rule->action != Action::deny && miss.lacks == Lacks{part};
  });
}

}  // namespace

TEST_CASE("an explanation never disagrees with the decision") {
  std::mt19937 random(20'260'202);
  RandomPolicy source([&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); });
  int allowed = 0;
  int by_deny = 0;
  int by_none = 0;
  int raw = 0;
  std::set<Reason> told;
  for (int round = 0; round < 1'000; ++round) {
    // More rules than are listed make "the nearest" a choice; few are compared whole.
    const Policy policy("p", source.rules(1 + static_cast<std::uint32_t>(random() % 8)));
    for (int i = 0; i < 50; ++i) {
      const RandomPolicy::Request request = source.request();
      const RequestFacts facts = request.facts();
      const Explanation said = explain(policy, facts);
      CAPTURE(round, i, request.method, request.authority.host_port(), request.path,
              said.verdict.rule);
      const auto as_raw = policy.authorize_raw(request.authority.host, request.authority.port);
      const bool is_tcp = request.authority.scheme == Scheme::tcp;
      const bool is_raw = said.verdict.handling != Handling::inspect;
      if (is_tcp) {
        REQUIRE(said.verdict == policy.authorize_connection(request.authority));
      } else if (as_raw && said.verdict == *as_raw) {
        ++raw;
      } else {
        // Word by word, but where bytes pass unread.
        REQUIRE(said.verdict == policy.authorize(facts));
        REQUIRE_FALSE(is_raw);
      }
      // Found by looking at the rules one by one.
      REQUIRE((said.deciding == nullptr ? "" : said.deciding->name) == said.verdict.rule);
      const bool refused = said.verdict.decision == Decision::deny;
      ++(!refused ? allowed : said.deciding != nullptr ? by_deny : by_none);
      for (const NearMiss& miss : said.near) {
        REQUIRE_FALSE(miss.lacks.empty());
        REQUIRE(miss.rule != said.deciding);
      }
      for (const Rule* rule : said.overruled) REQUIRE(rule != said.deciding);
      if (said.deciding != nullptr && !refused) {
        // The first that matches: whatever matches as well stands behind it, and denies nothing.
        for (const Rule* rule : said.overruled) {
          REQUIRE(rule > said.deciding);
          REQUIRE(rule->action != Action::deny);
        }
      }
      if (!refused || said.deciding != nullptr || is_tcp || as_raw) continue;
      told.insert(said.verdict.reason);
      REQUIRE(said.overruled.empty());
      // The reason is what the nearest rule lacks.
      if (said.verdict.reason == Reason::query_not_allowed) {
        REQUIRE_FALSE((has_part(said, Part::body) || has_part(said, Part::headers)));
      }
      if (said.verdict.reason == Reason::header_not_allowed)
        REQUIRE_FALSE(has_part(said, Part::body));
      if (said.verdict.reason == Reason::too_large) REQUIRE(has_part(said, Part::body));
    }
  }
  CAPTURE(allowed, by_deny, by_none, raw);
  for (const int count : {allowed, by_deny, by_none}) CHECK(count > 2'000);
  CHECK(raw > 100);
  for (const Reason reason :
       {Reason::host_not_allowed, Reason::port_not_allowed, Reason::method_not_allowed,
        Reason::path_not_allowed, Reason::query_not_allowed, Reason::header_not_allowed,
        Reason::too_large})
    CHECK(told.contains(reason));
}

TEST_CASE("each part that a rule lacks is named") {
  RuleText api{"api", Action::allow, {"api.test"}, {443}, {"POST"}, {"/v1/**"}};
  api.query = {"id"};
  api.headers = {{"x-env", {"prod"}}};
  api.max_body = 10;
  const Policy policy = test::policy({api});
  SupposedRequest good = question("https://api.test/v1/x?id=1", "POST");
  REQUIRE(add_field(good, "X-Env", "prod") == "");
  const auto lacks = [&](const SupposedRequest& asked) {
    return lacks_of(explain(policy, asked.facts()), "api");
  };
  CHECK(explain(policy, good.facts()).deciding == &policy.rules().front());
  const auto with = [&](auto change) {
    SupposedRequest asked = good;
    change(asked);
    return lacks(asked);
  };
  CHECK(with([](SupposedRequest& q) { q.authority->port = 8443; }) == Lacks{Part::port});
  CHECK(with([](SupposedRequest& q) { q.authority->scheme = Scheme::http; }) ==
        Lacks{Part::scheme});
  CHECK(with([](SupposedRequest& q) { q.method = "GET"; }) == Lacks{Part::method});
  CHECK(with([](SupposedRequest& q) { q.path = "/v2"; }) == Lacks{Part::path});
  CHECK(with([](SupposedRequest& q) { q.query = "no=1"; }) == Lacks{Part::query});
  CHECK(with([](SupposedRequest& q) { q.fields.clear(); }) == Lacks{Part::headers});
  CHECK(with([](SupposedRequest& q) { q.body_bytes = 11; }) == Lacks{Part::body});
  CHECK(with([](SupposedRequest& q) {
          q.method = "TRACE";
          q.query = "no=1";
          q.body_bytes = 11;
        }) == Lacks{Part::method, Part::query, Part::body});
  // Another name of the same owner is near, that of another one is not.
  CHECK(with([](SupposedRequest& q) {
          q.authority->host = HostName::parse("www.api.test").value();
        }) == Lacks{Part::host});
  CHECK(with([](SupposedRequest& q) {
          q.authority->host = HostName::parse("other.test").value();
        }).empty());
}

TEST_CASE("a deny wins over what matches as well, and a deny that nearly matches is named") {
  const Policy policy =
      test::policy({{"all", Action::allow, {"api.test"}},
                    {"get", Action::allow, {"api.test"}, {}, {"GET"}},
                    {"admin", Action::deny, {"api.test"}, {}, {}, {"/admin/**"}}});
  const Explanation denied = explained(policy, "https://api.test/%61dmin/x");
  CHECK(denied.deciding->name == "admin");
  CHECK(names(denied.overruled) == std::vector<std::string>{"all", "get"});
  const Explanation allowed = explained(policy, "https://api.test/x");
  CHECK(allowed.deciding->name == "all");
  CHECK(names(allowed.overruled) == std::vector<std::string>{"get"});
  CHECK(lacks_of(allowed, "admin") == Lacks{Part::path});
}

TEST_CASE("what passes unread is decided before a request is there") {
  const Policy policy = test::policy({{"pinned", Action::tunnel, {"push.test"}, {443}},
                                      {"db", Action::tcp, {"db.test"}, {5432}},
                                      {"web", Action::allow, {"web.test"}}});
  const Explanation pinned = explained(policy, "https://push.test/x", "POST");
  CHECK(pinned.verdict.handling == Handling::tunnel);
  CHECK(pinned.deciding->name == "pinned");
  // Clear text is no TLS hello.
  const Explanation clear = explained(policy, "http://push.test:443/");
  CHECK(clear.verdict.decision == Decision::deny);
  CHECK(lacks_of(clear, "pinned") == Lacks{Part::scheme});
  CHECK(explained(policy, "tcp://db.test:5432").deciding->name == "db");
  CHECK(explained(policy, "tcp://db.test:5433").deciding == nullptr);
  CHECK(lacks_of(explained(policy, "tcp://db.test:5433"), "db") == Lacks{Part::port});
  CHECK(lacks_of(explained(policy, "tcp://web.test:443"), "web") == Lacks{Part::scheme});
}

TEST_CASE("of many that are near the nearest are listed, and the rest is counted") {
  std::vector<RuleText> rules;
  for (int i = 0; i < 20; ++i)
    rules.push_back(
        {"far-" + std::to_string(i), Action::allow, {"api.test"}, {}, {"PUT"}, {"/no"}});
  rules.push_back({"near", Action::allow, {"api.test"}, {}, {"PUT"}});
  const Policy policy = test::policy(rules);
  const Explanation said = explained(policy, "https://api.test/");
  REQUIRE(said.near.size() == kMaxNear);
  CHECK(said.near.front().rule->name == "near");
  CHECK(said.near[1].rule->name == "far-0");
  CHECK(said.more_near == 21 - kMaxNear);
}

TEST_CASE("a question is read as the gateway reads a request") {
  const SupposedRequest upper = question("HTTPS://API.Test:8443/A?b=c");
  CHECK(upper.authority->host_port() == "api.test:8443");
  CHECK(upper.path == "/A");
  CHECK(upper.query == "b=c");
  CHECK(question("http://api.test").path == "/");
  CHECK(question("https://b\xc3\xbc"
                 "cher.test/")
            .authority->host.str() == "xn--bcher-kva.test");
  CHECK(question("https://[2001:db8::1]/").authority->host.is_address());
  CHECK(question("https://api.test/", "CONNECT").method == "CONNECT");
  for (const std::string url :
       {"https://api.test/a/../b", "https://api.test/%2e%2e/b", "https://api.test/%00",
        "https://api.test/%", "https://api.test/a\\b", "https://api.test/a b", "https://127.1/",
        "https:///x", "https://a..test/", "https://api.test:0/", "https://api.test:99999/",
        "tcp://0x7f.1:80", "https://*.api.test/"}) {
    CAPTURE(url);
    const auto read = read_supposed_request(url, "GET");
    REQUIRE(std::holds_alternative<SupposedRequest>(read));
    CHECK(std::get<SupposedRequest>(read).malformed != "");
  }
}

TEST_CASE("what no client could send is no question") {
  const auto fault = [](const std::string& url, const std::string& method = "GET") {
    const auto read = read_supposed_request(url, method);
    const auto* sentence = std::get_if<std::string>(&read);
    return sentence == nullptr ? "it is read" : *sentence;
  };
  CHECK(fault("api.test/x") ==
        "\"api.test/x\" has no scheme: write https://, http:// or tcp:// before it");
  CHECK(fault("ftp://api.test") ==
        "\"ftp://api.test\" has another scheme than the gateway knows: write https://, http:// or "
        "tcp://");
  CHECK(fault("https://api.test/x#y") ==
        "\"https://api.test/x#y\" has a fragment, which clients keep to themselves: write "
        "\"https://api.test/x\"");
  CHECK(fault("https://me:secret@api.test/").ends_with("leave it out"));
  CHECK(fault("tcp://db.test").ends_with("such as tcp://db.internal:5432"));
  CHECK(fault("tcp://db.test:1/x").ends_with("leave it out"));
  CHECK(fault("https://api.test/", "get").ends_with("such as GET"));
  CHECK(fault("https://api.test/", "").ends_with("such as GET"));
  CHECK(fault("https://api.test/" + std::string(70'000, 'a')).ends_with("no request may be"));

  SupposedRequest asked = question("https://api.test/");
  CHECK(add_field(asked, "X-A", " b ") == "");
  CHECK(asked.fields.find("x-a")->value == "b");
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"", "x"}, {"x y", "x"}, {"X-A", "a\r\nb"}, {"Host", "x"}, {"content-length", "1"}}) {
    CAPTURE(name);
    CHECK(add_field(asked, name, value) != "");
  }
  CHECK(asked.fields.size() == 1);
}
