// What a refused client reads.
#include "proxy/refusal.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "config/load.hpp"
#include "http/h1_parser.hpp"
#include "policy/policy.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

RequestHead asking(std::string method, std::string accept = "") {
  RequestHead head;
  head.method = std::move(method);
  if (!accept.empty()) head.fields.add("Accept", std::move(accept));
  return head;
}

const Refusal kRefusal{Reason::path_not_allowed, "one sentence", "rule-3", "add {paths: [\"/x\"]}"};

// As our own strict parser reads it.
struct Read {
  ResponseHead head;
  std::string body;
  bool keep_alive = false;
};
Read read(std::string_view in, std::string_view method) {
  H1Parser parser(H1Parser::Role::response);
  parser.begin_response(method);
  Read result;
  for (;;) {
    switch (parser.next(in)) {
      case H1Event::head:
        result.head = parser.response();
        result.keep_alive = parser.keep_alive();
        break;
      case H1Event::body: result.body += parser.body(); break;
      case H1Event::end: CHECK(in.empty()); return result;
      default: FAIL("not one whole message");
    }
  }
}

}  // namespace

TEST_CASE("a refusal says what, why and what would allow it, in plain text") {
  const Read said = read(write_refusal(kRefusal, asking("GET"), Persist::keep_alive), "GET");
  CHECK(said.head.status == 403);
  CHECK(said.keep_alive);
  CHECK(said.head.fields.find("warder-reason")->value == "path_not_allowed");
  CHECK(said.head.fields.find("proxy-status")->value ==
        "warder; error=http_request_denied; details=\"path_not_allowed\"");
  CHECK(said.head.fields.find("content-type")->value == "text/plain; charset=utf-8");
  CHECK(said.body ==
        "warder: path_not_allowed: no rule allows this path.\n  one sentence\n  rule: rule-3\n"
        "  to allow it: add {paths: [\"/x\"]}\n");
}

TEST_CASE("who prefers JSON gets it") {
  for (const char* accept :
       {"application/json", "application/vnd.github+json", "application/json, text/plain, */*"}) {
    INFO(accept);
    const Read said = read(write_refusal(kRefusal, asking("GET", accept), Persist::close), "GET");
    CHECK_FALSE(said.keep_alive);
    CHECK(said.head.fields.find("content-type")->value == "application/json");
    const boost::json::value body = boost::json::parse(said.body);
    CHECK(body.at("error").at("reason").as_string() == "path_not_allowed");
    CHECK(body.at("error").at("allow_with").as_string() == kRefusal.suggestion);
  }
  for (const char* accept : {"*/*", "text/html,application/json"}) {
    INFO(accept);
    CHECK(read(write_refusal(kRefusal, asking("GET", accept), Persist::close), "GET")
              .body.starts_with("warder:"));
  }
}

TEST_CASE("what time frees says when, in the head and in JSON") {
  Refusal refusal;
  refusal.reason = Reason::limit_exceeded;
  const Read never = read(write_refusal(refusal, asking("GET"), Persist::close), "GET");
  CHECK(never.head.status == 429);
  CHECK(never.head.fields.find("retry-after") == nullptr);
  refusal.retry_after = std::chrono::seconds(12);
  const Read said =
      read(write_refusal(refusal, asking("GET", "application/json"), Persist::close), "GET");
  CHECK(said.head.fields.find("retry-after")->value == "12");
  CHECK(boost::json::parse(said.body).at("error").at("retry_after").as_int64() == 12);
}

TEST_CASE("a refused HEAD has the length and no body") {
  const std::string head = write_refusal(kRefusal, asking("HEAD"), Persist::keep_alive);
  CHECK(head.ends_with("\r\n\r\n"));
  const Read said = read(head, "HEAD");
  CHECK(said.body.empty());
  CHECK(said.head.fields.find("content-length")->value != "0");
}

TEST_CASE("every reason makes a message that can be read, and with an error status") {
  for (int i = 1; i <= static_cast<int>(Reason::internal); ++i) {
    Refusal refusal;
    refusal.reason = static_cast<Reason>(i);
    const Read said = read(write_refusal(refusal, asking("GET"), Persist::close), "GET");
    INFO(to_string(refusal.reason));
    CHECK(said.head.status >= 400);
    CHECK((said.head.phrase != "Internal Server Error" || said.head.status == 500));
    CHECK(said.body.find(to_string(refusal.reason)) != std::string::npos);
  }
}

TEST_CASE("a detail cannot leave the body") {
  Refusal refusal = kRefusal;
  refusal.detail = "a\r\nSet-Cookie: b\r\n\r\nHTTP/1.1 200 OK";
  const Read said = read(write_refusal(refusal, asking("GET"), Persist::close), "GET");
  CHECK_FALSE(said.head.fields.has("set-cookie"));
}

namespace {

// A policy whose rules, but for the one that decides, are nobody's business inside.
constexpr const char* kRules =
    "version: 1\npolicies:\n  t:\n    rules:\n"
    "      - {name: secret-plan, hosts: [api.test, hidden.test], methods: [PATCH, POST], paths: "
    "[\"/v1/**\", \"/internal/**\"], query: [hidden-key], headers: {x-hidden: [hidden-value]}, "
    "max_body: 77, action: allow}\n"
    "      - {name: secret-port, hosts: [port.test], ports: [9443], action: allow}\n"
    "      - {name: small, hosts: [small.test], max_body: 77, action: allow}\n"
    "      - {name: keys, hosts: [keys.test], query: [hidden-key], action: allow}\n"
    "      - {name: field, hosts: [field.test], headers: {x-hidden: [hidden-value]}, action: "
    "allow}\n"
    "      - {name: no-admin, hosts: [deny.test], paths: [\"/admin/**\"], action: deny}\n"
    "      - {name: all-but, hosts: [deny.test], action: allow}\n";

struct Asked {
  Reason reason;
  std::string host;
  std::string method;
  std::string path;
  std::string query;
  std::uint64_t body;
  std::string rule{};  // that decides
};

Policy policy_of(const std::string& yaml) {
  const Config config = parse_config(yaml, "/project/warder.yaml");
  return Policy("t", config.policies.at(0).rules);
}

Verdict ask(const Policy& policy, const Asked& asked) {
  const Authority authority{Scheme::https, HostName::parse(asked.host).value(), 443};
  return policy.authorize({authority, asked.method, asked.path, asked.query, nullptr, asked.body});
}

}  // namespace

TEST_CASE("whatever a rule can cure is refused with the change that cures it, and no other rule") {
  const Policy policy = policy_of(kRules);
  for (const Asked& asked : std::vector<Asked>{
           {Reason::host_not_allowed, "evil.test", "GET", "/", "", 0},
           {Reason::port_not_allowed, "port.test", "GET", "/", "", 0},
           {Reason::method_not_allowed, "api.test", "DELETE", "/v1/x", "", 0},
           {Reason::path_not_allowed, "api.test", "POST", "/v2/x", "", 0},
           {Reason::query_not_allowed, "keys.test", "GET", "/a", "page=1&q=2", 0},
           {Reason::header_not_allowed, "field.test", "GET", "/a", "", 0},
           {Reason::too_large, "small.test", "POST", "/up", "", 78},
           {Reason::path_not_allowed, "deny.test", "GET", "/admin/x", "", 0, "no-admin"}}) {
    const Verdict verdict = ask(policy, asked);
    CAPTURE(to_string(asked.reason), verdict.suggestion);
    REQUIRE(verdict.reason == asked.reason);
    CHECK(verdict.rule == asked.rule);
    REQUIRE(verdict.suggestion != "");
    const Refusal refusal{verdict.reason, "", verdict.rule, verdict.suggestion, verdict.where};
    const std::string text =
        read(write_refusal(refusal, asking("POST"), Persist::close), "POST").body;
    const std::string json =
        read(write_refusal(refusal, asking("POST", "application/json"), Persist::close), "POST")
            .body;
    for (const std::string& body : {text, json}) {
      CHECK(body.find(to_string(asked.reason)) != std::string::npos);
      CHECK(body.find(asked.rule) != std::string::npos);
      for (const char* hidden :
           {"secret-plan", "secret-port", "hidden", "internal", "PATCH", "9443", "77", "all-but"}) {
        CAPTURE(hidden, body);
        CHECK(body.find(hidden) == std::string::npos);
      }
    }
    const boost::json::value error = boost::json::parse(json).at("error");
    CHECK(error.at("allow_with").as_string() == verdict.suggestion);
    const boost::json::value* rule = error.as_object().if_contains("rule");
    CHECK((rule == nullptr ? "" : std::string(rule->as_string())) == asked.rule);

    if (verdict.suggestion.starts_with("add ")) {
      // It is what it says: one rule more, and this very request passes.
      const Policy cured = policy_of(kRules + ("      - " + verdict.suggestion.substr(4) + '\n'));
      CHECK(ask(cured, asked).allows());
      Asked other = asked;
      other.path = "/other";
      CHECK_FALSE(ask(cured, other).allows());
    }
  }
}

TEST_CASE("what no rule can cure has no change to offer") {
  const Policy policy = policy_of(kRules);
  const Verdict trace = ask(policy, {Reason::method_not_allowed, "deny.test", "TRACE", "/", "", 0});
  CHECK(trace.reason == Reason::method_not_allowed);
  const Refusal refusal{trace.reason, "", trace.rule, trace.suggestion};
  const std::string body =
      read(write_refusal(refusal, asking("TRACE"), Persist::close), "TRACE").body;
  CHECK(body.find("to allow it") == std::string::npos);
}
