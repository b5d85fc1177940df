// Tokens that an origin mints: the sandbox gets placeholders, and uses them as if they were what they stand for.
#include "tests/proxy/support/gateway.hpp"

using namespace warder;
using namespace warder::test;

namespace {

constexpr const char* kAccess = "2YotnFZFEjr1zCsicMWpAA-real-access";
constexpr const char* kRefresh = "tGzv3JOkF0XG5Qx2TlKWIA-real-refresh";

Capture capture_of(const std::string& paths = "/oauth/token") {
  const auto host = [](const char* name) {
    return std::get<HostPattern>(HostPattern::parse(name));
  };
  Capture capture;
  capture.name = "acme";
  capture.from = {host("other.test")};
  capture.paths = {std::get<PathPattern>(PathPattern::parse(paths))};
  capture.fields = {"access_token", "refresh_token", "id_token", "token"};
  capture.hosts = {host("api.test")};
  capture.at = default_places();
  capture.where = "test:9";
  return capture;
}

// A token endpoint at other.test, and an API at api.test that says what it was sent.
struct Bench {
  explicit Bench(std::string answer)
      : endpoint(
            [text = std::move(answer)](Wire& wire, std::size_t) {
              while (wire.read_message().whole) wire.send(text);
            },
            warder.trusted_tls("other.test")),
        api(
            [](Wire& wire, std::size_t) {
              for (;;) {
                const Message request = wire.read_message();
                if (!request.whole) return;
                const std::string token = field(request.head, "Authorization").value_or("none");
                wire.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(token.size()) +
                          "\r\n\r\n" + token);
              }
            },
            warder.trusted_tls("api.test")) {
    warder.route("other.test", Scheme::https, endpoint);
    warder.route("api.test", Scheme::https, api);
  }
  Message login(const std::string& path = "/oauth/token") {
    auto client = warder.tls("other.test");
    warder.change_policy([](SessionPolicy& policy) { policy.captures = {capture_of()}; });
    client->send("POST " + path + " HTTP/1.1\r\nHost: other.test\r\nContent-Length: 0\r\n\r\n");
    const Message answer = client->read_message();
    CHECK(client->got().find(kAccess) == std::string::npos);
    CHECK(client->got().find(kRefresh) == std::string::npos);
    client->close();
    return answer;
  }
  Message ask(const std::string& token) {
    auto client = warder.tls("api.test");
    client->send("GET / HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer " + token + "\r\n\r\n");
    const Message answer = client->read_message();
    CHECK(client->got().find(kAccess) == std::string::npos);
    client->close();
    return answer;
  }

  TestGateway warder;
  Origin endpoint;
  Origin api;
};

std::string reply(const std::string& body, const std::string& fields = "",
                  const std::string& type = "application/json", int status = 200) {
  return "HTTP/1.1 " + std::to_string(status) + " OK\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + fields + "\r\n" + body;
}

std::string tokens(const std::string& expires = "3600") {
  return std::string(R"({"access_token":")") + kAccess +
         R"(","token_type":"Bearer","expires_in":)" + expires + R"(,"refresh_token":")" + kRefresh +
         R"(","scope":"a b"})";
}

// The text of a JSON field.
std::string text_of(const std::string& body, const std::string& name) {
  const std::string key = "\"" + name + "\":\"";
  const std::size_t begin = body.find(key);
  if (begin == std::string::npos) return "";
  return body.substr(begin + key.size(), body.find('"', begin + key.size()) - begin - key.size());
}

}  // namespace

TEST_CASE("what a token endpoint mints stays here, and its placeholder is as good") {
  Bench bench(reply(tokens(), "X-Token: " + std::string(kAccess) + "\r\nETag: \"1\"\r\n"));
  const Message answer = bench.login();
  const std::string access = text_of(answer.body, "access_token");
  CHECK(access.size() == std::string(kAccess).size());
  CHECK(text_of(answer.body, "refresh_token").size() == std::string(kRefresh).size());
  CHECK(text_of(answer.body, "scope") == "a b");
  CHECK(answer.has("X-Token: " + access));
  CHECK_FALSE(answer.has("ETag"));
  CHECK(answer.has("Content-Length: " + std::to_string(answer.body.size())));

  CHECK(bench.ask(access).body == "Bearer " + access);
  bench.warder.stop();
  CHECK(bench.api.received_in_all().find(std::string("Bearer ") + kAccess) != std::string::npos);
  const auto intents = bench.warder.log->intents();
  REQUIRE(intents.size() == 2);
  REQUIRE(intents[1].uses.size() == 1);
  CHECK(intents[1].uses[0].name == "acme.access_token");
  const auto receipts = bench.warder.log->receipts();
  CHECK(receipts[0].masked[0].encoding == "captured");
}

TEST_CASE("a minted token is good at the grant's hosts alone, and a refresh token nowhere else") {
  Bench bench(reply(tokens()));
  const Message answer = bench.login();
  const std::string access = text_of(answer.body, "access_token");
  CHECK(bench.ask(text_of(answer.body, "refresh_token")).has("placeholder_wrong_host"));
  auto client = bench.warder.tls("other.test");
  client->send("GET / HTTP/1.1\r\nHost: other.test\r\nX-Api-Key: " + access + "\r\n\r\n");
  CHECK(client->read_message().has("placeholder_wrong_place"));
  client->close();
  bench.warder.stop();
  CHECK(bench.api.connections() == 0);
}

TEST_CASE("the same token again has the same placeholder; another has another") {
  Bench bench(reply(tokens()));
  const Message first = bench.login();
  CHECK(bench.login().body == first.body);
  CHECK(bench.warder.session->secrets.now()->credentials().size() == 3);
  bench.warder.stop();
}

TEST_CASE("a token that has run out is answered as its API would, so that its client refreshes") {
  Bench bench(reply(tokens("1")));
  const std::string access = text_of(bench.login().body, "access_token");
  pause(milliseconds(1100));
  const Message answer = bench.ask(access);
  CHECK(answer.status() == 401);
  CHECK(answer.has("WWW-Authenticate: Bearer error=\"invalid_token\""));
  CHECK(answer.has("Warder-Reason: secret_expired"));
  bench.warder.stop();
  CHECK(bench.api.connections() == 0);
}

TEST_CASE("a form as GitHub's, and the answers while a device waits") {
  const std::string form = std::string("access_token=") + kAccess + "&scope=repo&token_type=bearer";
  Bench bench(reply(form, "", "application/x-www-form-urlencoded; charset=utf-8"));
  const std::string body = bench.login().body;
  CHECK(body.starts_with("access_token="));
  CHECK(body.ends_with("&scope=repo&token_type=bearer"));
  CHECK(bench.ask(body.substr(13, std::string(kAccess).size())).status() == 200);
  bench.warder.stop();

  const std::string waits = R"({"error":"authorization_pending"})";
  Bench pending(reply(waits, "", "application/json", 400));
  const Message answer = pending.login();
  CHECK(answer.status() == 400);
  CHECK(answer.body == waits);
  pending.warder.stop();
}

TEST_CASE("a reply that could carry a token past the capture is refused") {
  for (const std::string& body :
       {std::string(R"({"access_token":{"value":")") + kAccess + "\"}}",
        std::string(R"({"data":"{\"access_token\":\")") + kAccess + "\\\"}\"}",
        std::string(R"({"access_token":")") + kAccess, std::string(R"({"access_token":"short"})"),
        std::string(R"({"access_token":"line\nbreak-in-a-token"})"),
        "{\"x\":\"" + std::string(300'000, 'x') + "\",\"access_token\":\"" + kAccess + "\"}"}) {
    INFO(body.substr(0, 80));
    Bench bench(reply(body));
    const Message answer = bench.login();
    CHECK(answer.status() == 502);
    CHECK(answer.has("Warder-Reason: response_unmaskable"));
    bench.warder.stop();
    CHECK(bench.warder.log->receipts()[0].reason == Reason::response_unmaskable);
  }
  Bench coded(reply(tokens(), "Content-Encoding: gzip\r\n"));
  CHECK(coded.login().has("Warder-Reason: response_unmaskable"));
  coded.warder.stop();
}

TEST_CASE("a token endpoint is captured under every name that its server may take for its path") {
  for (const char* path : {"//oauth/token", "/oauth//token", "/oauth/token/", "/oauth%2ftoken",
                           "/%6fauth/token", "/oauth/token;x=1", "/OAuth/Token", "/%4FAUTH/token",
                           "/%254Fauth/token", "/oauth/token?a=b", "/oauth;a/token"}) {
    INFO(path);
    Bench bench(reply(tokens()));
    CHECK(text_of(bench.login(path).body, "access_token").size() == std::string(kAccess).size());
    bench.warder.stop();
    CHECK(bench.warder.session->secrets.now()->credentials().size() == 3);
  }
}

TEST_CASE("what an endpoint says in clear text is captured too") {
  TestGateway warder;
  Origin endpoint([](Wire& wire, std::size_t) {
    while (wire.read_message().whole) wire.send(reply(tokens()));
  });
  warder.route("other.test", Scheme::http, endpoint);
  auto client = warder.plain("other.test");
  warder.change_policy([](SessionPolicy& policy) { policy.captures = {capture_of()}; });
  client->send("GET /oauth/token HTTP/1.1\r\nHost: other.test\r\nRange: bytes=20-\r\n\r\n");
  CHECK(client->read_message().status() == 200);
  CHECK(client->got().find(kAccess) == std::string::npos);
  client->close();
  warder.stop();
  CHECK(endpoint.received_in_all().find("Range") == std::string::npos);
}

TEST_CASE("tokens in a form that is not read here are refused") {
  const std::string access(kAccess);
  const std::string xml = "<OAuth><access_token>" + access + "</access_token></OAuth>";
  const std::string call = "/**/cb({\"access_token\":\"" + access + "\"});";
  struct Case {
    const char* type;
    std::string body;
  };
  for (const Case& each :
       {Case{"application/xml; charset=utf-8", xml}, Case{"text/xml", xml}, Case{"text/plain", xml},
        Case{"application/javascript", call}, Case{"text/javascript", call},
        Case{"text/plain", ")]}'\n" + tokens()}, Case{"text/plain", "\xef\xbb\xbf" + tokens()},
        Case{"application/yaml", "access_token: " + access},
        Case{"application/json", R"({"a":"{\"b\":\"{\\\"access_token\\\":1}\"}"})"}}) {
    INFO(each.type << ' ' << each.body);
    Bench bench(reply(each.body, "", each.type));
    CHECK(bench.login().has("Warder-Reason: response_unmaskable"));
    bench.warder.stop();
  }
  for (const char* type : {"text/html", "application/octet-stream; charset=x"}) {
    Bench hidden(reply(tokens(), "", type));
    CHECK(hidden.login().has("Warder-Reason: response_unmaskable"));
    hidden.warder.stop();
  }
  Bench page(reply("<p>Welcome</p>", "", "text/html"));
  CHECK(page.login().body == "<p>Welcome</p>");
  page.warder.stop();
}

TEST_CASE("a session that has no secret yet asks for what can be read all the same") {
  TestGateway warder;
  warder.secret.clear();
  Origin api(
      [](Wire& wire, std::size_t) {
        if (wire.read_message().whole) wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      },
      warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, api);
  auto client = warder.tls("api.test");
  warder.change_policy([](SessionPolicy& policy) { policy.captures = {capture_of()}; });
  client->send("GET / HTTP/1.1\r\nHost: api.test\r\nAccept-Encoding: dcb, gzip\r\n\r\n");
  CHECK(client->read_message().body == "ok");
  client->close();
  warder.stop();
  CHECK(api.received_in_all().find("Accept-Encoding: gzip\r\n") != std::string::npos);
}

TEST_CASE("another path of the endpoint's host is none of the capture's") {
  Bench bench(reply(R"({"access_token":"public-example-value"})"));
  CHECK(bench.login("/docs/example").body == R"({"access_token":"public-example-value"})");
  bench.warder.stop();
  CHECK(bench.warder.session->secrets.now()->credentials().size() == 1);
}

TEST_CASE("a token reply that breaks off never ends cleanly, and mints nothing") {
  Bench bench("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n" +
              tokens());
  Origin breaks(
      [](Wire& wire, std::size_t) {
        wire.read_message();
        wire.send(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n" +
            tokens());
      },
      bench.warder.trusted_tls("other.test"));
  bench.warder.route("other.test", Scheme::https, breaks);
  CHECK(bench.login().status() == 502);
  CHECK(bench.warder.session->secrets.now()->credentials().size() == 1);
  bench.warder.stop();
}
