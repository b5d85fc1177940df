// Tables of verdicts: what is asked, what is answered, and the reason that the client reads.
#include "policy/policy.hpp"

#include "tests/policy/rules.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {

struct Ask {
  std::string method;
  std::string url;
  std::string path;
  std::string answer;  // the rule's name, or the reason
};

std::string answer_of(const Verdict& verdict) {
  return verdict.allows() ? verdict.rule : std::string(to_string(verdict.reason));
}

void check(const Policy& policy, const std::vector<Ask>& table) {
  for (const Ask& ask : table) {
    CAPTURE(ask.method, ask.url, ask.path);
    const Verdict verdict = policy.authorize({authority(ask.url), ask.method, ask.path});
    CHECK(answer_of(verdict) == ask.answer);
    CHECK(verdict.suggestion.find('\n') == std::string::npos);
    if (verdict.allows()) CHECK(verdict.suggestion.empty());
    // What a request may do, its connection may do: the first question must never be the stricter.
    if (verdict.allows()) CHECK(policy.authorize_connection(authority(ask.url)).allows());
    if (verdict.allows()) CHECK(policy.authorize_name(authority(ask.url).host).allows());
  }
}

const RuleText kApi{"api", Action::allow, {"api.test"}, {}, {"GET", "POST"}, {"/v1/**"}};

}  // namespace

TEST_CASE("a policy without rules refuses everything") {
  const Policy nothing;
  CHECK_FALSE(nothing.authorize({authority("https://api.test"), "GET", "/"}).allows());
  CHECK_FALSE(nothing.authorize_connection(authority("https://api.test")).allows());
  CHECK_FALSE(nothing.authorize_name(authority("https://api.test").host).allows());
  CHECK_FALSE(policy({{"no", Action::deny, {"api.test"}}})
                  .authorize({authority("https://other.test"), "GET", "/"})
                  .allows());
  CHECK(Verdict{}.decision == Decision::deny);
  CHECK(Rule{}.action == Action::deny);
}

TEST_CASE("the reason says what the nearest rule lacked") {
  check(policy({kApi, {"other", Action::allow, {"other.test"}}}),
        {
            {"GET", "https://api.test", "/v1/users", "api"},
            {"GET", "http://api.test", "/v1/users", "api"},
            {"GET", "https://api.test", "/v1", "api"},
            {"GET", "https://api.test", "/v2", "path_not_allowed"},
            {"DELETE", "https://api.test", "/v1/users", "method_not_allowed"},
            {"DELETE", "https://api.test", "/v2", "path_not_allowed"},
            {"get", "https://api.test", "/v1/users", "method_not_allowed"},
            {"Get", "https://api.test", "/v1/users", "method_not_allowed"},
            {"GET", "https://api.test:8443", "/v1/users", "port_not_allowed"},
            {"GET", "https://evil.test", "/v1/users", "host_not_allowed"},
            {"GET", "https://xapi.test", "/v1/users", "host_not_allowed"},
            {"GET", "https://api.test.evil.test", "/v1/users", "host_not_allowed"},
            {"PURGE", "https://other.test", "/any?", "other"},
        });
}

TEST_CASE("80 is clear text and 443 is TLS, listed or not; another listed port is either") {
  const RuleText usual{"usual", Action::allow, {"u.test"}};
  const RuleText listed{"listed", Action::allow, {"l.test"}, {443, 80, 9000}};
  const RuleText tls{"tls", Action::allow, {"t.test"}, {443}};
  check(policy({usual, listed, tls}), {
                                          {"GET", "http://u.test:80", "/", "usual"},
                                          {"GET", "https://u.test:443", "/", "usual"},
                                          {"GET", "https://u.test:80", "/", "port_not_allowed"},
                                          {"GET", "http://u.test:443", "/", "port_not_allowed"},
                                          {"GET", "http://u.test:8080", "/", "port_not_allowed"},
                                          {"GET", "http://l.test:9000", "/", "listed"},
                                          {"GET", "https://l.test:9000", "/", "listed"},
                                          {"GET", "https://l.test:80", "/", "port_not_allowed"},
                                          {"GET", "http://l.test:443", "/", "port_not_allowed"},
                                          {"GET", "http://l.test:9001", "/", "port_not_allowed"},
                                          {"GET", "https://t.test", "/", "tls"},
                                          {"GET", "http://t.test", "/", "port_not_allowed"},
                                      });
  const Authority raw{Scheme::tcp, authority("https://l.test").host, 9000};
  CHECK_FALSE(policy({listed}).authorize_connection(raw).allows());
  CHECK(policy({listed}).authorize_connection(raw).suggestion.empty());
}

TEST_CASE("any matching deny wins, wherever it stands; otherwise the first match") {
  const RuleText wide{"wide", Action::allow, {"**.test"}};
  const RuleText narrow{"narrow", Action::allow, {"api.test"}};
  const RuleText keys{"keys", Action::deny, {"api.test"}, {}, {}, {"/repos/*/*/keys/**"}};
  check(policy({wide, narrow, keys}),
        {
            {"GET", "https://api.test", "/repos/a/b/issues", "wide"},
            {"GET", "https://api.test", "/repos/a/b/keys", "path_not_allowed"},
            {"GET", "https://api.test", "/repos/a/b/keys/1", "path_not_allowed"},
            {"GET", "https://other.test", "/repos/a/b/keys", "wide"},
        });
  check(policy({narrow, wide}), {{"GET", "https://api.test", "/", "narrow"}});
}

TEST_CASE("a deny is named in the verdict with its reason and place") {
  const auto refused = [](RuleText deny, const char* method, const char* path) {
    deny.name = "stop";
    deny.action = Action::deny;
    return policy({{"all", Action::allow, {"**.test"}}, deny})
        .authorize({authority("https://api.test"), method, path});
  };
  const Verdict host = refused({"", Action::deny, {"api.test"}}, "GET", "/");
  CHECK(host.reason == Reason::host_not_allowed);
  CHECK(host.rule == "stop");
  CHECK(host.where == "warder.yaml:7");
  CHECK(host.suggestion == "narrow or remove the deny rule \"stop\" (warder.yaml:7)");
  CHECK(refused({"", Action::deny, {"api.test"}, {}, {"PUT"}}, "PUT", "/").reason ==
        Reason::method_not_allowed);
  CHECK(refused({"", Action::deny, {"api.test"}, {}, {"PUT"}, {"/x"}}, "PUT", "/x").reason ==
        Reason::path_not_allowed);
  CHECK(refused({"", Action::deny, {"api.test"}, {}, {"PUT"}, {"/x"}}, "GET", "/x").allows());
}

TEST_CASE("no spelling slips past a deny") {
  const Policy guarded = policy({{"all", Action::allow, {"api.test"}, {443, 8443}},
                                 {"admin", Action::deny, {"api.test"}, {}, {}, {"/admin/**"}},
                                 {"pkg", Action::deny, {"api.test"}, {}, {}, {"/@acme%2Fsecret"}},
                                 {"delete", Action::deny, {"api.test"}, {}, {"DELETE"}}});
  const std::string https = "https://api.test";
  for (const std::string path : {"/admin",
                                 "/admin/",
                                 "/admin/x",
                                 "/%61dmin",
                                 "/%61%64%6d%69%6E/x",
                                 "/admin%2Fx",
                                 "/admin%2fx",
                                 "//admin",
                                 "///admin//x",
                                 "/%2561dmin",
                                 "/admin;a=b",
                                 "/admin;/x",
                                 "/x/%252e%252e/admin",
                                 "/%2Fadmin",
                                 "/@acme%2Fsecret",
                                 "/@acme%2fsecret",
                                 "/@acme/secret",
                                 "/%40acme%2Fsecret",
                                 "/@acme%252fsecret",
                                 "/@acme%2F%73ecret"}) {
    CAPTURE(path);
    CHECK(guarded.authorize({authority(https), "GET", path}).reason == Reason::path_not_allowed);
    CHECK_FALSE(guarded.authorize({authority(https + ":8443"), "GET", path}).allows());
  }
  for (const std::string path : {"/", "/administrator", "/ADMIN", "/x/admin", "/@acme%2Fpublic"}) {
    CAPTURE(path);
    CHECK(guarded.authorize({authority(https), "GET", path}).allows());
  }
  CHECK_FALSE(guarded.authorize({authority(https), "delete", "/"}).allows());
}

TEST_CASE("a deny of a whole host holds on every port, before anything is resolved") {
  const Policy bad = policy({{"all", Action::allow, {"**.api.test"}, {80, 443, 8443}},
                             {"bad", Action::deny, {"**.bad.api.test"}},
                             {"part", Action::deny, {"part.api.test"}, {}, {}, {"/x"}},
                             {"tls", Action::deny, {"tls.api.test"}, {443, 8443}}});
  for (const std::string host : {"bad.api.test", "BAD.api.test.", "x.bad.api.test"}) {
    for (const std::string& origin :
         {"https://" + host, "http://" + host, "https://" + host + ":8443"}) {
      CAPTURE(origin);
      const Verdict verdict = bad.authorize_connection(authority(origin));
      CHECK(verdict.reason == Reason::host_not_allowed);
      CHECK(verdict.rule == "bad");
    }
    CHECK_FALSE(bad.authorize_name(HostName::parse(host).value()).allows());
    CHECK(bad.authorize_name(HostName::parse(host).value()).reason == Reason::name_not_allowed);
  }
  CHECK(bad.authorize_connection(authority("https://part.api.test")).allows());
  CHECK_FALSE(bad.authorize_connection(authority("https://tls.api.test")).allows());
  CHECK(bad.authorize_connection(authority("http://tls.api.test")).allows());
  // Port 80 is left, so the name may be asked for.
  CHECK(bad.authorize_name(HostName::parse("tls.api.test").value()).allows());
  CHECK(bad.authorize_name(HostName::parse("xbad.api.test").value()).allows());
}

TEST_CASE("a connection says host or port, and never asks for more than a request would need") {
  const Policy api = policy({kApi});
  CHECK(api.authorize_connection(authority("https://api.test")).allows());
  CHECK(api.authorize_connection(authority("https://api.test:22")).reason ==
        Reason::port_not_allowed);
  CHECK(api.authorize_connection(authority("https://evil.test")).reason ==
        Reason::host_not_allowed);
}

TEST_CASE("one name has one verdict, however it is spelled") {
  const Policy api = policy({{"api", Action::allow, {"api.test"}},
                             {"wild", Action::allow, {"*.wild.test"}},
                             {"idn", Action::allow, {"xn--bcher-kva.test"}},
                             {"v6", Action::allow, {"2001:db8::1"}}});
  const auto rule_for = [&](const std::string& host) {
    const Result<HostName> name = HostName::parse(host);
    if (!name) return std::string("no name");
    return answer_of(api.authorize({{Scheme::https, *name, 443}, "GET", "/"}));
  };
  const std::pair<const char*, const char*> table[] = {
      {"api.test", "api"},
      {"API.TEST", "api"},
      {"api.test.", "api"},
      {"Api.Test.", "api"},
      {"xapi.test", "host_not_allowed"},
      {"api.test.evil.test", "host_not_allowed"},
      {"api.test..", "no name"},
      {" api.test", "no name"},
      {"api..test", "no name"},
      {"*.wild.test", "no name"},
      {".wild.test", "no name"},
      {"wild.test", "host_not_allowed"},
      {"a.wild.test", "wild"},
      {"a.b.wild.test", "wild"},
      {"evil-wild.test", "host_not_allowed"},
      {"XN--BCHER-KVA.test", "idn"},
      {"2001:DB8::1", "v6"},
      {"[2001:db8:0:0::1]", "v6"},
      {"2001:db8::2", "host_not_allowed"},
      {"127.1", "no name"},
      {"0x7f.0.0.1", "no name"},
  };
  for (const auto& [host, answer] : table) {
    CAPTURE(host);
    CHECK(rule_for(host) == answer);
  }
}

TEST_CASE("TRACE and CONNECT are never allowed, even where a rule lists them") {
  const Policy api = policy({{"api", Action::allow, {"api.test"}, {}, {"TRACE", "CONNECT", "GET"}},
                             {"any", Action::allow, {"any.test"}}});
  for (const std::string method : {"TRACE", "CONNECT", "trace", "Connect"}) {
    for (const std::string& origin : {"https://api.test", "https://any.test"}) {
      const Verdict verdict = api.authorize({authority(origin), method, "/"});
      CAPTURE(method, origin);
      CHECK(verdict.reason == Reason::method_not_allowed);
      CHECK(verdict.suggestion.empty());
    }
  }
}

TEST_CASE("a suggestion is the smallest change, and applied it allows what was refused") {
  const Policy api = policy({kApi});
  const auto suggestion = [&](const char* method, const char* url, const char* path) {
    return api.authorize({authority(url), method, path}).suggestion;
  };
  CHECK(suggestion("GET", "https://evil.test", "/") == "--allow evil.test");
  CHECK(suggestion("GET", "http://evil.test", "/") == "--allow evil.test");
  CHECK(suggestion("GET", "https://evil.test:8443", "/") == "--allow evil.test:8443");
  CHECK(suggestion("GET", "https://[2001:db8::1]:8443", "/") == "--allow [2001:db8::1]:8443");
  CHECK(suggestion("GET", "https://api.test:8443", "/v1") == "--allow api.test:8443");
  CHECK(suggestion("GET", "http://api.test:443", "/v1").empty());
  CHECK(suggestion("DELETE", "https://api.test", "/admin") ==
        R"(add {hosts: [api.test], methods: [DELETE], paths: ["/admin"], action: allow})");
  CHECK(suggestion("GET", "https://api.test", "/a/{x}/b") ==
        R"(add {hosts: [api.test], methods: [GET], paths: ["/a/*/b"], action: allow})");
  CHECK(suggestion("GET", "https://api.test", "/a\"b") ==
        R"(add {hosts: [api.test], methods: [GET], paths: ["/a\"b"], action: allow})");
  const std::string longest = "/" + std::string(9000, 'x');
  CHECK(suggestion("GET", "https://api.test", longest.c_str()).size() < 400);
  // Not a word of the rules that exist.
  CHECK(suggestion("GET", "https://evil.test", "/").find("api") == std::string::npos);
}

TEST_CASE("private addresses are the deciding rule's to allow") {
  const Policy api = policy({{"public", Action::allow, {"db.test"}, {}, {}, {"/pub/**"}},
                             {"inside", Action::allow, {"db.test"}, {}, {}, {}, true}});
  CHECK_FALSE(api.authorize({authority("https://db.test"), "GET", "/pub/x"}).allow_private);
  CHECK(api.authorize({authority("https://db.test"), "GET", "/x"}).allow_private);
  CHECK_FALSE(api.authorize_connection(authority("https://db.test")).allow_private);
}
