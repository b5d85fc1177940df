// What a refused client reads.
#include "proxy/refusal.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "http/h1_parser.hpp"
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
