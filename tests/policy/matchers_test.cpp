// Rules that look at the query, the header fields and the length of a request, and those who would
// slip past them.
#include "tests/policy/rules.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

HeaderList list_of(const Fields& fields) {
  HeaderList list;
  for (const auto& [name, value] : fields) list.add(name, value);
  return list;
}

const Authority kApi = authority("https://api.test");

Verdict with_query(const Policy& policy, std::string_view query) {
  return policy.authorize({kApi, "GET", "/", query});
}
Verdict with_fields(const Policy& policy, const Fields& fields) {
  const HeaderList list = list_of(fields);
  return policy.authorize({kApi, "GET", "/", "", &list});
}
Verdict with_body(const Policy& policy, std::optional<std::uint64_t> bytes) {
  return policy.authorize({kApi, "POST", "/", "", nullptr, bytes});
}

Policy only_keys(std::vector<std::string> keys) {
  RuleText text{"api", Action::allow, {"api.test"}};
  text.query = std::move(keys);
  return policy({text});
}
Policy no_keys(std::vector<std::string> keys) {
  RuleText deny{"no", Action::deny, {"api.test"}};
  deny.query = std::move(keys);
  return policy({{"all", Action::allow, {"api.test"}}, deny});
}
Policy only_fields(std::vector<std::pair<std::string, std::vector<std::string>>> fields) {
  RuleText text{"api", Action::allow, {"api.test"}};
  text.headers = std::move(fields);
  return policy({text});
}
Policy no_fields(std::vector<std::pair<std::string, std::vector<std::string>>> fields) {
  RuleText deny{"no", Action::deny, {"api.test"}};
  deny.headers = std::move(fields);
  return policy({{"all", Action::allow, {"api.test"}}, deny});
}

}  // namespace

TEST_CASE("an allow rule takes no query key but its own, in its own letters") {
  const Policy api = only_keys({"page", "filter[name]"});
  for (const std::string query :
       {"", "page", "page=", "page=2", "page=1&page=2", "&&page=1&", "filter[name]=x",
        "filter%5Bname%5D=x", "%70age=1", "page=a%26admin%3D1", "page=a=b", "page=%"}) {
    CAPTURE(query);
    CHECK(with_query(api, query).rule == "api");
  }
  for (const std::string query : {"admin=1",         "page=1&admin=1",
                                  "page=1;admin=1",  "page;admin",
                                  "Page=1",          "PAGE",
                                  "page%20=1",       "+page=1",
                                  "page+=1",         "=1",
                                  "page=1&=",        "page[]=1",
                                  "page%00=1",       "%2570age=1",
                                  "p%61ge%3D1",      "page.x=1",
                                  "filter[other]=1", "%=1",
                                  "page=1&amp;x=1",  "?page=1",
                                  "page=a;b"}) {
    CAPTURE(query);
    const Verdict verdict = with_query(api, query);
    CHECK_FALSE(verdict.allows());
    CHECK(verdict.reason == Reason::query_not_allowed);
    CHECK(info(verdict.reason).status == 403);
  }
}

TEST_CASE("no spelling of a query key slips past a deny") {
  const Policy api = no_keys({"token", "api_key", "ids[]"});
  for (const std::string query : {"token",
                                  "token=",
                                  "token=1",
                                  "a=1&token=1",
                                  "a=1;token=1",
                                  "TOKEN=1",
                                  "Token",
                                  "%74oken=1",
                                  "%74%6f%6B%65%6e=1",
                                  "%2574oken=1",
                                  "%252574oken=1",
                                  "token%3D1",
                                  "a=1%26token=1",
                                  "a=1%2526token%253D1",
                                  "a=1%3Btoken=1",
                                  "token[]=1",
                                  "token%5B%5D=1",
                                  "token[x][y]=1",
                                  "+token=1",
                                  "%20token=1",
                                  "token%20=1",
                                  "token+",
                                  "%09token=1",
                                  "token%00=1",
                                  "token%00x=1",
                                  "?token=1",
                                  "a&amp;token=1",
                                  "api_key=1",
                                  "api.key=1",
                                  "api+key=1",
                                  "api%20key",
                                  "API%2EKEY",
                                  "ids=1",
                                  "ids[]=1",
                                  "ids[0]=1",
                                  "=&token"}) {
    CAPTURE(query);
    const Verdict verdict = with_query(api, query);
    CHECK(verdict.rule == "no");
    CHECK(verdict.reason == Reason::query_not_allowed);
  }
  for (const std::string query : {"", "a=token", "tokens=1", "xtoken=1", "apikey=1", "id=1",
                                  "x[token]=1", "token_=1", "=token", "a=%20token"}) {
    CAPTURE(query);
    CHECK(with_query(api, query).rule == "all");
  }
}

TEST_CASE("an allow rule asks for its header fields, and for every value of them") {
  const Policy api = only_fields({{"X-Env", {"prod", "stag*"}}, {"x-any", {"*"}}});
  const auto allowed = [&](Fields fields) {
    fields.emplace_back("X-Any", "");
    return with_fields(api, fields).allows();
  };
  CHECK(allowed({{"X-Env", "prod"}}));
  CHECK(allowed({{"x-env", "staging-2"}}));
  CHECK(allowed({{"X-ENV", "prod"}, {"x-env", "stag"}}));
  CHECK(allowed({{"X-Env", "prod, staging"}}));
  CHECK(allowed({{"X-Env", "prod,"}}));

  CHECK_FALSE(allowed({}));
  CHECK_FALSE(allowed({{"X-Env", ""}}));
  CHECK_FALSE(allowed({{"X-Env", "PROD"}}));
  CHECK_FALSE(allowed({{"X-Env", "production"}}));
  CHECK_FALSE(allowed({{"X-Env", "prod"}, {"X-Env", "dev"}}));
  CHECK_FALSE(allowed({{"X-Env", "dev"}, {"X-Env", "prod"}}));
  CHECK_FALSE(allowed({{"X-Env", "prod, dev"}}));
  CHECK_FALSE(allowed({{"X-Env", "staging, dev"}}));
  CHECK_FALSE(allowed({{"X-Env", "stag, dev,"}}));
  CHECK_FALSE(allowed({{"X-Env", ","}}));
  CHECK_FALSE(allowed({{"X-Env", "\"prod\""}}));
  // What CGI reads as the same name says the same, or nothing is said.
  CHECK_FALSE(allowed({{"X-Env", "prod"}, {"X_Env", "dev"}}));
  CHECK_FALSE(allowed({{"X_Env", "prod"}}));
  // It would be taken off before the origin sees it.
  CHECK_FALSE(allowed({{"X-Env", "prod"}, {"Connection", "close, X-ENV"}}));
  CHECK_FALSE(with_fields(api, {{"X-Env", "prod"}}).allows());
  CHECK(with_fields(api, {{"X-Env", "prod"}}).reason == Reason::header_not_allowed);
  CHECK_FALSE(api.authorize({kApi, "GET", "/"}).allows());
}

TEST_CASE("a star of an allow rule ends at a comma, which a pattern may have itself") {
  const Policy dates = only_fields({{"x-date", {"*, 01 Jan *"}}});
  CHECK(with_fields(dates, {{"x-date", "Thu, 01 Jan 1970"}}).allows());
  CHECK_FALSE(with_fields(dates, {{"x-date", "Thu, Fri, 01 Jan 1970"}}).allows());
  CHECK_FALSE(with_fields(dates, {{"x-date", "01 Jan 1970"}}).allows());
}

TEST_CASE("no spelling of a field slips past a deny") {
  const Policy api = no_fields({{"x-mode", {"debug*", "trace"}}, {"x-root", {"*"}}});
  for (const Fields& fields : std::vector<Fields>{
           {{"X-Mode", "debug"}},
           {{"x-mode", "DEBUG-all"}},
           {{"X-MODE", "Trace"}},
           {{"X-Mode", "safe"}, {"X-Mode", "trace"}},
           {{"X-Mode", "safe, trace"}},
           {{"X-Mode", "safe,debug,"}},
           {{"X-Mode", ",,trace,,"}},
           {{"X-Mode", "safe,\tTRACE , x"}},
           {{"X-Mode", "\"trace\""}},
           {{"X-Mode", "a, \"debug\""}},
           {{"X-Mode", "debug, safe"}},
           {{"X_Mode", "trace"}},
           {{"X-Mode", "safe"}, {"x_mode", "debug"}},
           {{"X-Mode", "trace"}, {"Connection", "x-mode"}},
           {{"X-Root", ""}},
           {{"x-root", "no"}},
       }) {
    CAPTURE(fields[0].first, fields[0].second);
    CHECK(with_fields(api, fields).rule == "no");
    CHECK(with_fields(api, fields).reason == Reason::header_not_allowed);
  }
  for (const Fields& fields : std::vector<Fields>{
           {}, {{"X-Mode", "safe"}}, {{"X-Mode", "a debug"}}, {{"X-Mod", "debug"}}}) {
    CHECK(with_fields(api, fields).rule == "all");
  }
}

TEST_CASE("max_body is the declared length at most, and the verdict has it for the rest") {
  RuleText small{"small", Action::allow, {"api.test"}};
  small.max_body = 100;
  const Policy api = policy({small});
  CHECK(with_body(api, 100).rule == "small");
  CHECK(with_body(api, 100).max_body == 100);
  CHECK(with_body(api, 0).allows());
  CHECK(with_body(api, std::nullopt).max_body == 100);
  CHECK(with_body(api, 101).reason == Reason::too_large);
  CHECK(info(Reason::too_large).status == 413);
  CHECK(with_body(api, ~std::uint64_t{0}).reason == Reason::too_large);

  RuleText big = small;
  big.name = "big";
  big.max_body = 1000;
  CHECK(with_body(policy({small, big}), 500).rule == "big");
  CHECK(with_body(policy({small, big}), 500).max_body == 1000);
  // Nobody knows yet: the first that could be.
  CHECK(with_body(policy({small, big}), std::nullopt).max_body == 100);
  CHECK_FALSE(with_body(policy({{"any", Action::allow, {"api.test"}}}), 5).max_body);
  CHECK_FALSE(api.authorize_connection(kApi).max_body);
}

TEST_CASE("the reason is the last thing that the nearest rule lacked") {
  RuleText text{"api", Action::allow, {"api.test"}, {}, {"POST"}, {"/v1/**"}};
  text.query = {"id"};
  text.headers = {{"x-env", {"prod"}}};
  text.max_body = 10;
  const Policy api = policy({text});
  const auto reason = [&](std::string_view method, std::string_view path, std::string_view query,
                          const Fields& fields, std::uint64_t bytes) {
    const HeaderList list = list_of(fields);
    return api.authorize({kApi, method, path, query, &list, bytes}).reason;
  };
  const Fields prod{{"x-env", "prod"}};
  CHECK(reason("POST", "/v1/x", "id=1", prod, 10) == Reason::none);
  CHECK(reason("POST", "/v1/x", "id=1", prod, 11) == Reason::too_large);
  CHECK(reason("POST", "/v1/x", "id=1", {}, 11) == Reason::header_not_allowed);
  CHECK(reason("POST", "/v1/x", "no=1", {}, 11) == Reason::query_not_allowed);
  CHECK(reason("GET", "/v1/x", "no=1", {}, 11) == Reason::method_not_allowed);
  CHECK(reason("GET", "/v2/x", "no=1", {}, 11) == Reason::path_not_allowed);
}

TEST_CASE("a deny that looks at the query or the fields closes no connection") {
  const Policy query = no_keys({"token"});
  CHECK(query.authorize_connection(kApi).allows());
  CHECK(query.authorize_name(kApi.host).allows());
  const Policy fields = no_fields({{"x-mode", {"*"}}});
  CHECK(fields.authorize_connection(kApi).allows());
  CHECK(fields.authorize_name(kApi.host).allows());
}

TEST_CASE("a range is decided by address literals alone") {
  const Policy lan = policy({{"lan", Action::allow, {"10.0.0.0/8"}, {}, {}, {}, true},
                             {"no", Action::deny, {"10.9.0.0/16"}}});
  const auto verdict = [&](const std::string& origin) {
    return lan.authorize({authority(origin), "GET", "/"});
  };
  CHECK(verdict("https://10.1.2.3").rule == "lan");
  CHECK(verdict("https://10.1.2.3").allow_private);
  CHECK(verdict("https://10.9.2.3").reason == Reason::host_not_allowed);
  CHECK(verdict("https://[::ffff:10.9.2.3]").rule == "no");
  CHECK(verdict("https://11.1.2.3").reason == Reason::host_not_allowed);
  CHECK(verdict("https://lan.test").reason == Reason::host_not_allowed);
  CHECK_FALSE(lan.authorize_name(HostName::parse("10.test").value()).allows());
}

TEST_CASE("what is suggested for a query or a length would allow it, and not much more") {
  RuleText text{"api", Action::allow, {"api.test"}};
  text.query = {"id"};
  text.max_body = 10;
  const Policy api = policy({text});
  const RequestFacts query{kApi, "GET", "/x", "id=1&page=2&page=3&%70er=9"};
  CHECK(
      api.authorize(query).suggestion ==
      R"(add {hosts: [api.test], methods: [GET], paths: ["/x"], query: ["id", "page", "per"], action: allow})");
  const RequestFacts odd{kApi, "GET", "/x", "a;b=1"};
  CHECK(api.authorize(odd).suggestion ==
        R"(add {hosts: [api.test], methods: [GET], paths: ["/x"], action: allow})");
  CHECK(with_body(api, 11).suggestion ==
        R"(add {hosts: [api.test], methods: [POST], paths: ["/"], max_body: 11, action: allow})");
}
