// Requests that a rule asks about, through a gateway in this process: what they wait for, and what leaves before.
#include "proxy/approvals.hpp"
#include "tests/proxy/support/gateway.hpp"

using namespace warder;
using namespace warder::test;

namespace {

Rule ask_at(const std::string& host) {
  Rule rule = allow(host);
  rule.name = "ask-" + host;
  rule.action = Action::ask;
  return rule;
}

std::string get(const std::string& path, const std::string& fields = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: api.test\r\n" + fields + "\r\n";
}

std::string post(const std::string& body, const std::string& fields = "") {
  return "POST /items HTTP/1.1\r\nHost: api.test\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + fields + "\r\n" + body;
}

// api.test, where everything is asked about, and who answers.
struct Asked {
  TestGateway warder;
  Origin origin{answers(ok("fine")), warder.trusted_tls("api.test")};

  explicit Asked(AskLimits limits = {}) {
    warder.rules = {ask_at("api.test"), allow("other.test")};
    warder.route("api.test", Scheme::https, origin);
    first = warder.tls();
    warder.session->approvals.limit(limits);
  }
  Approvals& approvals() { return warder.session->approvals; }
  // Waits until so many are open.
  std::vector<Approvals::Asked> open(std::size_t count = 1) {
    std::vector<Approvals::Asked> found;
    CHECK(within(milliseconds(4000), [&] {
      found = approvals().list(std::chrono::steady_clock::now());
      return found.size() == count;
    }));
    REQUIRE(found.size() == count);
    return found;
  }
  void answer(const std::string& id, const Answer& said) {
    const auto now = std::chrono::steady_clock::now();
    REQUIRE(approvals().take(id, now));
    approvals().settle(id, said, 41, now);
  }
  void say_yes() { answer(open()[0].id, {true, 1, std::nullopt}); }
  void end() {
    first->close();
    warder.stop();
    origin.stop();
  }
  std::unique_ptr<Wire> first;
};

}  // namespace

TEST_CASE("a request that is asked about waits, and until the yes nobody is dialled") {
  Asked asked;
  asked.first->send(get("/a?q=1", "Authorization: Bearer " + asked.warder.placeholder + "\r\n"));
  const auto open = asked.open();
  CHECK(open[0].question.method == "GET");
  CHECK(open[0].question.url == "https://api.test/a?q=1");
  CHECK(open[0].question.secrets == std::vector<std::string>{"github in header:authorization"});
  CHECK(open[0].question.body == "");
  CHECK_FALSE(asked.first->readable(milliseconds(400)));
  CHECK(asked.origin.connections() == 0);
  CHECK(asked.warder.log->intents().empty());
  asked.say_yes();
  CHECK(asked.first->read_message().body == "fine");
  asked.end();
  const auto intents = asked.warder.log->intents();
  REQUIRE(intents.size() == 1);
  CHECK(intents[0].decision == "allow");
  CHECK(intents[0].approval_seq == 41);
  CHECK(asked.origin.received_in_all().find(kSecret) != std::string::npos);
}

TEST_CASE(
    "no value and no placeholder is in a question; a credential of the sandbox's own neither") {
  Asked asked;
  const std::string& mine = asked.warder.placeholder;
  asked.first->send(post("{\"a\": \"x\"}", "Authorization: token " + mine +
                                               "\r\nCookie: sid=SECRETCOOKIE\r\nX-B: 1\r\n"));
  const Question question = asked.open()[0].question;
  std::string all = question.url + question.path + *question.body;
  for (const auto& field : question.fields) all += field.name + ": " + field.value + "\n";
  CHECK(all.find(kSecret) == std::string::npos);
  CHECK(all.find(mine) == std::string::npos);
  CHECK(all.find("SECRETCOOKIE") == std::string::npos);
  CHECK(all.find("Authorization: token [secret:github]\n") != std::string::npos);
  CHECK(all.find("Cookie: (16 bytes)\n") != std::string::npos);
  CHECK(all.find("X-B: 1\n") != std::string::npos);
  CHECK(question.body == "{\"a\": \"x\"}");
  asked.say_yes();
  CHECK(asked.first->read_message().status() == 200);
  asked.end();
}

TEST_CASE("a no is 403 approval_denied, and the connection goes on") {
  Asked asked;
  asked.first->send(post("hello"));
  asked.answer(asked.open()[0].id, {false, 1, std::nullopt});
  const Message refused = asked.first->read_message();
  CHECK(refused.status() == 403);
  CHECK(refused.has("Warder-Reason: approval_denied"));
  asked.first->send(get("/again"));
  asked.say_yes();
  CHECK(asked.first->read_message().status() == 200);
  asked.end();
}

TEST_CASE("no answer in time is 403 approval_timeout, and recorded as such") {
  Asked asked({std::chrono::seconds(1), 32});
  asked.first->send(get("/"));
  const Message refused = asked.first->read_message();
  CHECK(refused.status() == 403);
  CHECK(refused.has("Warder-Reason: approval_timeout"));
  asked.end();
  CHECK(asked.origin.connections() == 0);
  std::ifstream file(asked.warder.log->file());
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  CHECK(text.find(R"("type":"approval")") != std::string::npos);
  CHECK(text.find(R"("decision":"timeout")") != std::string::npos);
}

TEST_CASE("attack: a yes to one path, field or body does not let another one pass") {
  Asked asked;
  auto other = asked.warder.tls();
  const auto differ = [&](const std::string& meant, const std::string& sneaked) {
    asked.first->send(meant);
    const std::string id = asked.open()[0].id;
    other->send(sneaked);
    (void)asked.open(2);
    asked.answer(id, {true, 1000, std::nullopt});
    CHECK(asked.first->read_message().status() == 200);
    CHECK_FALSE(other->readable(milliseconds(350)));
    asked.answer(asked.open()[0].id, {false, 1, std::nullopt});
    CHECK(other->read_message().has("approval_denied"));
  };
  differ(get("/a"), get("/b"));
  differ(get("/a?x=1"), get("/a?x=2"));
  differ(get("/a", "X-A: 1\r\n"), get("/a", "X-A: 2\r\n"));
  differ(get("/a", "X-A: 1\r\nX-B: 2\r\n"), get("/a", "X-B: 2\r\nX-A: 1\r\n"));
  differ(post("one"), post("two"));
  other->close();
  asked.end();
}

TEST_CASE("the same request on two connections is one question") {
  Asked asked;
  auto other = asked.warder.tls();
  asked.first->send(post("same"));
  other->send(post("same"));
  CHECK(within(milliseconds(4000), [&] {
    const auto open = asked.approvals().list(std::chrono::steady_clock::now());
    return open.size() == 1 && open[0].count == 2;
  }));
  asked.answer(asked.open()[0].id, {true, 2, std::nullopt});
  CHECK(asked.first->read_message().status() == 200);
  CHECK(other->read_message().status() == 200);
  other->close();
  asked.end();
}

TEST_CASE(
    "a yes to the rule lets the next request pass unasked; others of the policy are no matter") {
  Asked asked;
  asked.first->send(get("/a"));
  asked.answer(asked.open()[0].id, {true, 1, std::chrono::seconds(60)});
  CHECK(asked.first->read_message().status() == 200);
  asked.first->send(post("anything"));
  CHECK(asked.first->read_message().status() == 200);
  asked.end();
  for (const auto& intent : asked.warder.log->intents()) CHECK(intent.approval_seq == 41);
}

TEST_CASE("what would be refused anyway is refused without a question") {
  Asked asked;
  auto client = asked.warder.tls();
  client->send(get("/", "X-Debug: " + asked.warder.placeholder + "\r\n"));
  CHECK(client->read_message().has("Warder-Reason: placeholder_wrong_place"));
  client = asked.warder.tls();
  client->send(post("my token is " + asked.warder.placeholder));
  CHECK(client->read_message().has("Warder-Reason: placeholder_wrong_place"));
  CHECK(asked.approvals().list(std::chrono::steady_clock::now()).empty());
  client->close();
  asked.end();
  CHECK(asked.origin.connections() == 0);
}

TEST_CASE("a body that is small is read whole and goes on as it came; a long one is not shown") {
  Asked asked;
  const std::string small(64 * 1024, 's');
  asked.first->send(post(small));
  auto open = asked.open();
  CHECK(open[0].question.body_bytes == small.size());
  CHECK(open[0].question.body_sha256.size() == 64);
  asked.say_yes();
  CHECK(asked.first->read_message().status() == 200);

  const std::string large(64 * 1024 + 1, 'l');
  asked.first->send(post(large));
  open = asked.open();
  CHECK_FALSE(open[0].question.body);
  CHECK(open[0].question.body_sha256.empty());
  asked.say_yes();
  CHECK(asked.first->read_message().status() == 200);

  asked.first->send(
      "POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
      "0\r\n\r\n");
  CHECK_FALSE(asked.open()[0].question.body);
  asked.say_yes();
  CHECK(asked.first->read_message().status() == 200);
  asked.end();
  const std::string received = asked.origin.received_in_all();
  CHECK(received.find("\r\n\r\n" + small + "POST") != std::string::npos);
  CHECK(received.find("\r\n\r\n" + large + "POST") != std::string::npos);
}

TEST_CASE("who expects 100 is told to go on where the body is to be shown") {
  Asked asked;
  asked.first->send(
      "POST / HTTP/1.1\r\nHost: api.test\r\nContent-Length: 5\r\n"
      "Expect: 100-continue\r\n\r\n");
  CHECK(asked.first->read_message(Wire::Body::none).status() == 100);
  CHECK(asked.approvals().list(std::chrono::steady_clock::now()).empty());
  asked.first->send("hello");
  CHECK(asked.open()[0].question.body == "hello");
  asked.say_yes();
  CHECK(asked.first->read_message().status() == 200);
  asked.end();
  CHECK(asked.origin.received_in_all().find("Expect") == std::string::npos);
}

TEST_CASE("a client that goes takes its question along") {
  Asked asked;
  auto client = asked.warder.tls();
  client->send(get("/"));
  (void)asked.open();
  client->close();
  (void)asked.open(0);
  asked.end();
  CHECK(asked.origin.connections() == 0);
}

TEST_CASE("the session's end, and quarantine, end what waits") {
  Asked asked;
  asked.first->send(get("/"));
  (void)asked.open();
  asked.warder.session->quarantined = true;
  (void)asked.open(0);
  asked.warder.session->quarantined = false;
  auto client = asked.warder.tls();
  client->send(get("/"));
  const std::string id = asked.open()[0].id;
  asked.warder.session->life = Life::ended;
  (void)asked.open(0);
  CHECK_FALSE(asked.approvals().take(id, std::chrono::steady_clock::now()));
  client->close();
  asked.end();
  CHECK(asked.origin.connections() == 0);
}

TEST_CASE("the 33rd question is refused at once, and says why") {
  Asked asked;
  std::vector<std::unique_ptr<Wire>> clients;
  for (int i = 0; i < 32; ++i) {
    clients.push_back(asked.warder.tls());
    clients.back()->send(get("/" + std::to_string(i)));
  }
  (void)asked.open(32);
  asked.first->send(get("/33"));
  const Message refused = asked.first->read_message();
  CHECK(refused.status() == 429);
  CHECK(refused.has("Warder-Reason: limit_exceeded"));
  CHECK(refused.body.find("wait for an answer") != std::string::npos);
  clients.front()->close();
  (void)asked.open(31);
  asked.first->send(get("/33"));
  (void)asked.open(32);
  for (auto& client : clients) client->close();
  asked.end();
}

TEST_CASE("no record, no egress: behind the yes too") {
  Asked asked;
  asked.first->send(get("/"));
  const auto open = asked.open();
  asked.warder.log->refuses_records = true;
  asked.answer(open[0].id, {true, 1, std::nullopt});
  CHECK(asked.first->read_message().has("Warder-Reason: audit_unavailable"));
  asked.warder.checks_records = false;
  asked.end();
  CHECK(asked.origin.connections() == 0);
}

TEST_CASE("what only an ask rule reaches is not dialled to learn what it speaks") {
  Asked asked;
  TestGateway::Hello hello;
  hello.alpn = "h2";
  auto client = asked.warder.tls(hello);
  CHECK(asked.origin.connections() == 0);
  client->close();
  asked.end();
}

TEST_CASE("the person is called, in words that no terminal obeys") {
  Asked asked;
  std::vector<std::string> called;
  std::mutex mutex;
  asked.warder.session->summon = [&](const std::string& line) {
    const std::scoped_lock lock(mutex);
    called.push_back(line);
  };
  asked.first->send(get("/%1b?x=1",
                        "X-Name: \x9b"
                        "2J\xe2\x80\xae\r\n"));
  const auto open = asked.open();
  CHECK(within(milliseconds(2000), [&] {
    const std::scoped_lock lock(mutex);
    return called.size() == 1;
  }));
  CHECK(called[0] ==
        "approval needed: GET https://api.test/%1b?x=1 (rule ask-api.test): warder approve " +
            open[0].id.substr(0, 8));
  CHECK(open[0].question.fields.at(1).value == "\\x9b2J\\xe2\\x80\\xae");
  asked.say_yes();
  (void)asked.first->read_message();
  asked.end();
}

TEST_CASE("a body that takes longer than a head may is not broken off") {
  TestGateway warder;
  warder.limits.keep_alive = milliseconds(300);
  warder.limits.request_head = milliseconds(300);
  Origin origin(answers(ok("fine")), warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  auto client = warder.tls();
  client->send("POST / HTTP/1.1\r\nHost: api.test\r\nContent-Length: 6\r\n\r\n");
  for (const char* piece : {"ab", "cd", "ef"}) {
    pause(milliseconds(500));
    client->send(piece);
  }
  CHECK(client->read_message().status() == 200);
  client->close();
  warder.stop();
}
