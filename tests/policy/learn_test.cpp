// Learning: the smallest rules that allow what was seen, and nothing at hosts that were not.
#include "policy/learn.hpp"

#include <algorithm>
#include <random>
#include <set>

#include "policy/learn_hosts.hpp"
#include "policy/learn_paths.hpp"
#include "tests/policy/rules.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {

using Kind = Observation::Kind;
using Texts = std::vector<std::string>;

Observation request(const std::string& origin, const std::string& method, const std::string& path) {
  return {Kind::request, authority(origin), method, path};
}
Observation look_up(const std::string& name) {
  return {Kind::name, authority("https://" + name), "", ""};
}
Observation raw(const std::string& host, std::uint16_t port) {
  return {Kind::raw, {Scheme::tcp, HostName::parse(host).value(), port}, "", ""};
}

Policy policy_from(const Learned& learned) {
  std::vector<Rule> rules;
  for (const LearnedRule& one : learned.rules) rules.push_back(one.rule);
  return Policy("learned", std::move(rules));
}

bool allows(const Policy& policy, const Observation& one) {
  if (one.kind == Kind::name) return policy.authorize_name(one.authority.host).allows();
  if (one.kind != Kind::request) return policy.authorize_connection(one.authority).allows();
  return policy.authorize({one.authority, one.method, one.path}).allows();
}

Learned learned_from(const std::vector<Observation>& seen,
                     const std::vector<Observation>& denied = {}, const Policy& in_force = {}) {
  Learned learned = learn(seen, denied, in_force);
  CAPTURE(learned.notes);
  const Policy policy = policy_from(learned);
  for (const Observation& one : seen) {
    CAPTURE(one.authority.origin(), one.method, one.path);
    if (learned.notes.empty()) CHECK(allows(policy, one));
  }
  return learned;
}

// "GET,HEAD api.test:8443 /a,/b"
std::string shown(const Rule& rule) {
  std::string out;
  const auto add = [&](const auto& list, auto text) {
    std::string part;
    for (const auto& item : list) part += (part.empty() ? "" : ",") + text(item);
    out += (out.empty() || part.empty() ? "" : " ") + part;
  };
  add(rule.methods, [](const std::string& method) { return method; });
  add(rule.hosts, [](const HostPattern& host) { return host.str(); });
  add(rule.ports, [](std::uint16_t port) { return std::to_string(port); });
  add(rule.paths, [](const PathPattern& path) { return path.str(); });
  return out + (rule.action == Action::allow ? "" : " " + std::string(to_string(rule.action)));
}

Texts shown(const Learned& learned) {
  Texts out;
  for (const LearnedRule& one : learned.rules) out.push_back(shown(one.rule));
  return out;
}

bool has(const Texts& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("learn: hosts are exact, methods are listed, ports only where they are not the usual") {
  CHECK(shown(learned_from({request("https://api.test", "GET", "/v1/users"),
                            request("https://api.test", "HEAD", "/v1/users"),
                            request("https://api.test", "POST", "/v1/login"),
                            request("http://api.test", "GET", "/v1/users"),
                            request("https://api.test:8443", "GET", "/v1/users")})) ==
        Texts{"POST api.test /v1/login", "GET,HEAD api.test /v1/users",
              "GET api.test 8443 /v1/users"});
}

TEST_CASE("learn: what looks like an id becomes a star") {
  CHECK(general_patterns({"/users/4711"}) == Texts{"/users/*"});
  CHECK(general_patterns({"/o/123e4567-e89b-12d3-a456-426614174000/x"}) == Texts{"/o/*/x"});
  CHECK(general_patterns({"/blob/3f9ac1de"}) == Texts{"/blob/*"});
  CHECK(general_patterns({"/t/x9Kq2LmP0zRv7TbN4cWd"}) == Texts{"/t/*"});
  for (const char* word : {"/v1/models", "/facade", "/defaced", "/kubernetes-v1-2-3-release-notes",
                           "/py3", "/six-1.16.0-py2.py3-none-any.whl"}) {
    CHECK(general_patterns({word}) == Texts{word});
  }
}

TEST_CASE("learn: four values in one place of otherwise equal paths become a star, three do not") {
  CHECK(general_patterns({"/r/a/x", "/r/b/x", "/r/c/x"}) == Texts{"/r/a/x", "/r/b/x", "/r/c/x"});
  CHECK(general_patterns({"/r/a/x", "/r/b/x", "/r/c/x", "/r/d/x"}) == Texts{"/r/*/x"});
  Texts two_places;
  for (const char* owner : {"a", "b", "c", "d"}) {
    for (const char* repo : {"k", "l", "m", "n"})
      two_places.push_back("/r/" + std::string(owner) + '/' + repo + "/issues");
  }
  CHECK(general_patterns(two_places) == Texts{"/r/*/*/issues"});
}

TEST_CASE("learn: a deep tree becomes its prefix, and every path only after three first segments") {
  Texts deep;
  std::string below;
  for (int i = 0; i < 8; ++i) deep.push_back("/pkg" + (below += "/d" + std::string(1, 'a' + i)));
  CHECK(general_patterns(deep) == Texts{"/pkg/da/**"});  // the narrowest that they share
  deep.pop_back();
  CHECK(general_patterns(deep).size() == 7);

  // "/*/**" would be every path: under one id too many patterns stay many.
  Texts under_id;
  below.clear();
  for (int i = 0; i < 20; ++i)
    under_id.push_back("/4711" + (below += "/d" + std::string(1, 'a' + i)));
  for (const std::string& pattern : general_patterns(under_id)) {
    CAPTURE(pattern);
    CHECK_FALSE(path_pattern(pattern).matches("/other"));
    CHECK_FALSE(path_pattern(pattern).matches("/4711/other"));
  }
  Texts four_roots;
  for (const char* root : {"a", "b", "c", "d"}) {
    for (int i = 0; i < 2; ++i)
      four_roots.push_back("/" + std::string(root) + (i == 0 ? "/x/y" : "/z"));
  }
  CHECK(general_patterns(four_roots) == Texts{"/*/x/y", "/*/z"});
  Texts one_root;
  for (int i = 0; i < 2'000; ++i)
    one_root.push_back("/only/" + std::string(i % 9 + 1, 'a' + i % 26) + "/" +
                       std::string(i % 7, 'b') + "/" + std::to_string(i) + "x");
  for (const std::string& pattern : general_patterns(one_root)) {
    CHECK(pattern.starts_with("/only/"));
  }
}

TEST_CASE("learn: a path that a pattern cannot spell is matched by one that can") {
  for (const std::string path :
       {"/a{b}/c", "/%41dmin/x", "/@scope%2fname/-/file.tgz", "/a*b/c", "/x**y***z",
        "/caf\xC3\xA9/y", "/a;b=1/c", "/", "//", "/a//b/", "/[x]/y", "/a%20b", "/a~b/%7e"}) {
    CAPTURE(path);
    const std::string literal = literal_pattern(path);
    REQUIRE_FALSE(literal.empty());
    CHECK(path_pattern(literal).matches(path));
    const Texts general = general_patterns({path});
    REQUIRE(general.size() == 1);
    CHECK(path_pattern(general[0]).matches(path));
  }
  CHECK(literal_pattern("/bot[secret:tok]/send") == "/bot*/send");
  CHECK(literal_pattern("/a/b/ccc\xE2\x80\xA6[+4000]") == "/a/b/**");
  CHECK(literal_pattern("/ccc\xE2\x80\xA6[+4000]").empty());
  CHECK(literal_pattern("/a/../b").empty());
  CHECK(literal_pattern("*").empty());
  CHECK(literal_pattern("/a" + std::string(5'000, 'x')).empty());
  CHECK(literal_pattern("/a/" + std::string(5'000, 'x')) == "/a/**");
}

TEST_CASE("learn: registrable domains, and none where strangers have names") {
  const auto domain = [](const char* host) {
    return owners_domain(HostName::parse(host).value()).value_or("");
  };
  CHECK(domain("a.b.example.com") == "example.com");
  CHECK(domain("x.example.co.uk") == "example.co.uk");
  for (const char* none : {"co.uk", "com", "me.github.io", "a.s3.amazonaws.com",
                           "sqs.amazonaws.com", "x.blob.core.windows.net", "a.b.test", "192.0.2.1",
                           "2001:db8::1", "a.b.internal", "localhost"}) {
    CAPTURE(none);
    CHECK(domain(none).empty());
  }
}

TEST_CASE("learn: a wildcard from four hosts of one owner, never above what was registered") {
  std::vector<Observation> seen;
  for (const char* host : {"a", "b", "c"})
    seen.push_back(request("https://" + std::string(host) + ".cdn.example.com", "GET", "/x"));
  CHECK(learned_from(seen).rules.size() == 3);
  seen.push_back(request("https://d.cdn.example.com", "GET", "/y"));
  CHECK(shown(learned_from(seen)) == Texts{"GET *.cdn.example.com /x,/y"});
  // Another use than the others: a rule of its own.
  seen.push_back(request("https://e.cdn.example.com", "POST", "/x"));
  CHECK(shown(learned_from(seen)) ==
        Texts{"GET *.cdn.example.com /x,/y", "POST e.cdn.example.com /x"});
  const Policy policy = policy_from(learned_from(seen));
  CHECK_FALSE(allows(policy, request("https://example.com", "GET", "/x")));
  CHECK_FALSE(allows(policy, request("https://a.example.com", "GET", "/x")));

  for (const std::string suffix :
       {"co.uk", "github.io", "test", "s3.amazonaws.com", "amazonaws.com"}) {
    std::vector<Observation> strangers;
    for (const char* host : {"a", "b", "c", "d", "e"})
      strangers.push_back(request("https://" + std::string(host) + "." + suffix, "GET", "/x"));
    CAPTURE(suffix);
    CHECK(learned_from(strangers).rules.size() == 5);
  }
}

TEST_CASE("learn: raw TCP by host and port; never where HTTP was spoken, never DNS") {
  CHECK(shown(learned_from({raw("db.test", 5432), look_up("db.test")})) ==
        Texts{"db.test 5432 tcp"});
  const Learned both =
      learn({raw("db.test", 8080), request("http://db.test:8080", "GET", "/")}, {}, {});
  CHECK(shown(both) == Texts{"GET db.test 8080 /"});
  CHECK(has(both.notes, "tcp to db.test:8080"));
  CHECK(learn({raw("db.test", 53)}, {}, {}).rules.empty());
  // A wildcard would cover the raw one's port: then the hosts stay exact.
  std::vector<Observation> seen{raw("db.example.com", 8080)};
  for (const char* host : {"a", "b", "c", "d"})
    seen.push_back(request("http://" + std::string(host) + ".example.com:8080", "GET", "/x"));
  CHECK(learned_from(seen).rules.size() == 5);
}

TEST_CASE("learn: of a host that was only looked up, nothing but its root") {
  CHECK(shown(learned_from({look_up("api.test")})) == Texts{"GET,HEAD api.test /"});
  CHECK(shown(learned_from({look_up("api.test"), request("https://api.test", "PUT", "/x")})) ==
        Texts{"PUT api.test /x"});
}

TEST_CASE("learn: private and special addresses are never learned") {
  for (const char* host : {"10.0.0.1", "127.0.0.1", "169.254.169.254", "198.18.0.7"}) {
    const Learned learned = learn({request("http://" + std::string(host), "GET", "/")}, {}, {});
    CHECK(learned.rules.empty());
    CHECK(has(learned.notes, host));
  }
  CHECK(shown(learned_from({request("http://93.184.216.34", "GET", "/")})) ==
        Texts{"GET 93.184.216.34 /"});
}

TEST_CASE("learn: what no rule can allow is said and not learned") {
  for (const Observation& one :
       {request("https://api.test", "TRACE", "/"), request("https://api.test", "CONNECT", "/"),
        request("https://api.test", "get", "/"), request("https://api.test", "OPTIONS", "*"),
        request("https://api.test", "GET", "/a/../b"), request("https://api.test:80", "GET", "/"),
        request("http://api.test:443", "GET", "/")}) {
    const Learned learned = learn({one}, {}, {});
    CHECK(learned.rules.empty());
    CHECK(learned.notes.size() == 1);
  }
}

TEST_CASE("learn: rules in force that were used are kept, those that were not are dropped") {
  const Policy in_force = policy({{"deny", Action::deny, {"api.test"}, {}, {}, {"/admin/**"}},
                                  {"api", Action::allow, {"api.test"}, {}, {}, {"/v1/**"}},
                                  {"unused", Action::allow, {"other.test"}}});
  const Learned learned = learn(
      {request("https://api.test", "GET", "/v1/a"), request("https://api.test", "GET", "/v2/b"),
       request("https://api.test", "GET", "/admin/x")},
      {}, in_force);
  CHECK(shown(learned) ==
        Texts{"api.test /admin/** deny", "api.test /v1/**", "GET api.test /v2/b"});
  CHECK(learned.rules[1].rule.name == "api");
  CHECK(has(learned.notes, "deny rule deny refuses it: GET https://api.test/admin/x"));
  CHECK_FALSE(allows(policy_from(learned), request("https://api.test", "GET", "/admin/x")));
}

TEST_CASE("learn: attack: no wildcard is made that would allow what a deny rule refused") {
  std::vector<Observation> seen;
  for (const char* key : {"a", "b", "c", "d", "e"})
    seen.push_back(request("https://api.test", "DELETE", "/keys/" + std::string(key)));
  const Observation denied = request("https://api.test", "DELETE", "/keys/root");
  CHECK(allows(policy_from(learned_from(seen)), denied));  // so the next line says something
  const Learned learned = learn(seen, {denied}, {});
  CHECK_FALSE(allows(policy_from(learned), denied));
  for (const Observation& one : seen) CHECK(allows(policy_from(learned), one));
  CHECK(has(learned.notes, "refused by a deny rule, once: DELETE https://api.test/keys/root"));

  std::vector<Observation> hosts;
  for (const char* host : {"a", "b", "c", "d"})
    hosts.push_back(request("https://" + std::string(host) + ".example.com", "GET", "/x"));
  const Observation bad = request("https://bad.example.com", "GET", "/x");
  CHECK_FALSE(allows(policy_from(learn(hosts, {bad}, {})), bad));
}

TEST_CASE("learn: the evidence has counts, the first time and examples") {
  Observation one = request("https://api.test", "GET", "/a");
  one.count = 3;
  one.refused = 1;
  one.first = "2026-11-30T10:00:00Z";
  const Learned learned = learn({one}, {}, {});
  CHECK(learned.rules.at(0).evidence ==
        Texts{"seen 3 times, refused once, first 2026-11-30T10:00:00Z",
              "e.g. GET https://api.test/a"});
}

TEST_CASE(
    "learn: property: whatever was seen is allowed, a host never seen is not, and order is "
    "nothing") {
  std::mt19937 random(20261130);
  const auto pick = [&](const Texts& from) { return from[random() % from.size()]; };
  const Texts hosts{"api.example.com", "a.example.com",   "b.example.com",   "c.example.com",
                    "d.x.example.com", "e.x.example.com", "f.x.example.com", "g.x.example.com",
                    "me.github.io",    "api.test",        "93.184.216.34",   "xn--bcher-kva.test"};
  const Texts words{"v1",    "users", "repos",        "a",        "b",      "c",
                    "d",     "e",     "4711",         "3f9ac1de", "",       "x%2Fy",
                    "{q}",   "a*",    "[secret:tok]", "%41",      "issues", "longer-name.tar.gz",
                    "%C3%A9"};
  for (int round = 0; round < 200; ++round) {
    std::vector<Observation> seen;
    const std::size_t many = 1 + random() % 60;
    for (std::size_t i = 0; i < many; ++i) {
      const std::string port = pick({"", "", "", ":8443", ":9000"});
      if (random() % 12 == 0) {
        seen.push_back(look_up(pick(hosts)));
        if (seen.back().authority.host.is_address()) seen.pop_back();
        continue;
      }
      if (random() % 15 == 0) {
        seen.push_back(raw(pick(hosts), static_cast<std::uint16_t>(5'000 + random() % 3)));
        continue;
      }
      std::string path;
      for (std::size_t depth = 1 + random() % 5; depth > 0; --depth) path += '/' + pick(words);
      seen.push_back(
          request((port.empty() && random() % 4 == 0 ? "http://" : "https://") + pick(hosts) + port,
                  pick({"GET", "POST", "DELETE"}), path));
    }
    const Learned learned = learn(seen, {}, {});
    CAPTURE(round, learned.notes, shown(learned));
    REQUIRE(learned.notes.empty());
    REQUIRE(learned.rules.size() <= kMaxLearnedRules);
    const Policy allowing = policy_from(learned);
    for (const Observation& one : seen) {
      CAPTURE(one.authority.origin(), one.method, one.path);
      REQUIRE(allows(allowing, one));
    }
    for (const char* host : {"evil.test", "example.com", "evil.github.io", "x.co.uk", "example.org",
                             "93.184.216.35", "notexample.com"}) {
      CHECK_FALSE(allows(allowing, request("https://" + std::string(host), "GET", "/v1")));
      CHECK_FALSE(allows(allowing, raw(host, 5'000)));
    }
    std::shuffle(seen.begin(), seen.end(), random);
    CHECK(shown(learn(seen, {}, {})) == shown(learned));
  }
}

TEST_CASE("learn: attack: many hostile observations are bounded in rules and in time") {
  std::vector<Observation> seen;
  for (int i = 0; i < 10'000; ++i) {
    std::string path;
    for (int depth = 0; depth < 30; ++depth)
      path += "/" + std::string(1, 'a' + (i >> depth % 12) % 3);
    seen.push_back(request("https://h" + std::to_string(i % 700) + ".test", "GET",
                           path + std::to_string(i) + "z"));
  }
  const Learned learned = learn(seen, {}, {});
  CHECK(learned.rules.size() <= kMaxLearnedRules);
  CHECK(learned.notes.size() <= 201);
}
