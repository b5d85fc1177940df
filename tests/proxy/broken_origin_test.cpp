// Origins that break off, answer early, close at the wrong moment or talk nonsense.
#include "tests/proxy/support/gateway.hpp"

using namespace warder;
using namespace warder::test;

namespace {

const std::string kGet = "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n";

std::string request(const std::string& line, const std::string& fields = "") {
  return line + " HTTP/1.1\r\nHost: api.test\r\n" + fields + "\r\n";
}

// Sends pieces of a body as a careful client does: it stops when an answer is there. True: there is one.
bool send_until_answered(Wire& client, std::size_t size, bool chunked) {
  const std::string piece(64 * 1024, 'b');
  const std::string framed = chunked ? "10000\r\n" + piece + "\r\n" : piece;
  for (std::size_t sent = 0; sent < size; sent += piece.size()) {
    if (client.readable(milliseconds(0))) return true;
    if (!client.send(framed)) return client.readable(milliseconds(5000));
  }
  return client.readable(milliseconds(5000));
}

std::size_t lines_with(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("BR-014 an answer before the upload has ended reaches the client") {
  for (const bool chunked : {false, true}) {
    for (const bool resets : {false, true}) {
      INFO("chunked " << chunked << ", then RST " << resets);
      TestGateway warder;
      Origin origin([resets](Wire& wire, std::size_t) {
        const Message head = wire.read_message(Wire::Body::none);
        if (head.has("GET")) {
          wire.send(ok("next"));
          return;
        }
        wire.read_exactly(64 * 1024);
        wire.send(
            "HTTP/1.1 413 Content Too Large\r\nContent-Length: 12\r\nConnection: close\r\n\r\nfar "
            "too much");
        if (!resets) pause(milliseconds(300));
        if (resets) wire.reset();
      });
      warder.route("api.test", Scheme::http, origin);
      auto client = warder.plain();
      const std::string length =
          chunked ? "Transfer-Encoding: chunked\r\n" : "Content-Length: 52428800\r\n";
      client->send(request("POST /big", length));
      CHECK(send_until_answered(*client, 52428800, chunked));
      const Message answer = client->read_message();
      // After an RST the answer may be lost on the way; then the origin is what broke.
      if (resets && answer.status() == 502) {
        CHECK(answer.has("Warder-Reason: upstream_broken"));
      } else {
        CHECK(answer.status() == 413);
        CHECK(answer.body == "far too much");
      }
      auto next = warder.plain();
      next->send(kGet);
      CHECK(next->read_message().body == "next");
    }
  }
}

TEST_CASE("BR-014 over TLS") {
  TestGateway warder;
  Origin origin(
      [](Wire& wire, std::size_t) {
        wire.read_message(Wire::Body::none);
        wire.read_exactly(64 * 1024);
        wire.send(
            "HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\nConnection: close\r\n\r\nmuch");
        wire.shut_write();
        pause(milliseconds(300));
      },
      warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  auto client = warder.tls();
  client->send(request("POST /big", "Content-Length: 52428800\r\n"));
  CHECK(send_until_answered(*client, 52428800, false));
  const Message answer = client->read_message();
  CHECK(answer.status() == 413);
  CHECK(answer.body == "much");
}

TEST_CASE("BR-016 an origin that dies under an upload gives an answer, not a hang") {
  Origin origin([](Wire& wire, std::size_t) {
    wire.read_message(Wire::Body::none);
    wire.read_exactly(1 << 20);
    wire.reset();
  });
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(request("POST /big", "Content-Length: 104857600\r\n"));
  CHECK(send_until_answered(*client, 104857600, false));
  const Message answer = client->read_message();
  CHECK(answer.status() == 502);
  CHECK(answer.has("Warder-Reason: upstream_broken"));
  client->close();
  warder.stop();
  CHECK(warder.log->receipts().at(0).side == "upstream");
  CHECK(origin.connections() == 1);
}

TEST_CASE("a body that broke off never ends cleanly") {
  struct Case {
    std::string name;
    std::string head;
    Scheme scheme;
    bool reset;
  };
  const std::vector<Case> cases = {
      {"length, FIN", "Content-Length: 100\r\n", Scheme::http, false},
      {"length, RST", "Content-Length: 100\r\n", Scheme::http, true},
      {"chunked, FIN", "Transfer-Encoding: chunked\r\n", Scheme::http, false},
      {"chunked, RST", "Transfer-Encoding: chunked\r\n", Scheme::http, true},
      {"until close, RST", "", Scheme::http, true},
      {"until close, TLS without close_notify", "", Scheme::https, false},
      {"chunked, TLS without close_notify", "Transfer-Encoding: chunked\r\n", Scheme::https, false},
  };
  for (const Case& c : cases) {
    for (const std::string version : {"1.1", "1.0"}) {
      INFO(c.name << ", client of HTTP/" << version);
      TestGateway warder;
      Origin origin(
          [&](Wire& wire, std::size_t) {
            wire.read_message();
            wire.send("HTTP/1.1 200 OK\r\n" + c.head + "\r\n" +
                      (c.head.starts_with("T") ? "5\r\nhello\r\n" : "hello"));
            pause(milliseconds(50));
            if (c.reset)
              wire.reset();
            else
              wire.cut();
          },
          c.scheme == Scheme::https ? warder.trusted_tls("api.test") : nullptr);
      warder.route("api.test", c.scheme, origin);
      auto client = c.scheme == Scheme::https ? warder.tls() : warder.plain();
      client->send("GET / HTTP/" + version + "\r\nHost: api.test\r\n\r\n");
      const Message answer = client->read_message();
      CHECK(answer.status() == 200);
      if (answer.chunked || field(answer.head, "Content-Length")) CHECK_FALSE(answer.whole);
      client->read_to_end();
      CHECK(client->ending() != Ending::clean);
      CHECK(client->got().find("\r\n0\r\n") == std::string::npos);
      warder.stop();
      CHECK(warder.log->receipts().at(0).reason == Reason::upstream_broken);
    }
  }
}

TEST_CASE("BR-012 a kept connection that the origin closed is replaced once, for what is safe") {
  struct Case {
    std::string line;
    std::string fields;
    std::string body;
    bool again;
  };
  const std::vector<Case> cases = {{"GET /2", "", "", true},
                                   {"HEAD /2", "", "", true},
                                   {"POST /2", "Content-Length: 2\r\n", "ab", false},
                                   {"POST /2", "Content-Length: 0\r\n", "", false},
                                   {"DELETE /2", "", "", false},
                                   {"GET /2", "Content-Length: 2\r\n", "ab", false}};
  for (const Case& c : cases) {
    INFO(c.line << " " << c.fields);
    TestGateway warder;
    Origin origin([](Wire& wire, std::size_t connection) {
      if (!wire.read_message().whole) return;
      wire.send(ok("first"));
      // Takes the second request, and is gone without a word.
      if (connection == 0) wire.read_message(Wire::Body::none);
    });
    warder.route("api.test", Scheme::http, origin);
    auto client = warder.plain();
    client->send(kGet);
    CHECK(client->read_message().body == "first");
    client->send(request(c.line, c.fields) + c.body);
    const Message answer =
        client->read_message(c.line.starts_with("HEAD") ? Wire::Body::none : Wire::Body::as_framed);
    CHECK(answer.status() == (c.again ? 200 : 502));
    client->close();
    warder.stop();
    CHECK(lines_with(origin.received_in_all(), "/2 HTTP/1.1") == (c.again ? 2 : 1));
  }
}

TEST_CASE("a kept connection that is seen to be closed is not used at all") {
  Origin origin([](Wire& wire, std::size_t) {
    wire.read_message();
    wire.send(ok("x"));
  });
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  for (int i = 0; i < 3; ++i) {
    client->send(request("POST /", "Content-Length: 1\r\n") + "1");
    CHECK(client->read_message().status() == 200);
    pause(milliseconds(100));
  }
  CHECK(origin.connections() == 3);
}

TEST_CASE("BR-012 when a byte of an answer came, nothing is sent again") {
  struct Case {
    std::string name;
    std::string bytes;
  };
  const std::vector<Case> cases = {
      {"bare LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok"},
      {"one byte", "H"},
      {"an interim answer", "HTTP/1.1 103 Early Hints\r\n\r\n"},
      {"too many fields", "HTTP/1.1 200 OK\r\nX: " + std::string(300 * 1024, 'x') + "\r\n\r\n"},
      {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"},
      {"length and coding",
       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"Connection takes a field",
       "HTTP/1.1 200 OK\r\nConnection: set-cookie\r\nContent-Length: 0\r\n\r\n"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    TestGateway warder;
    Origin origin([&](Wire& wire, std::size_t connection) {
      wire.read_message();
      if (connection == 0) wire.send(ok("first"));
      if (connection == 0) wire.read_message();
      wire.send(c.bytes);
    });
    warder.route("api.test", Scheme::http, origin);
    auto client = warder.plain();
    client->send(kGet);
    CHECK(client->read_message().body == "first");
    client->send(request("GET /2"));
    Message answer = client->read_message(Wire::Body::none);
    if (answer.status() == 103) answer = client->read_message();
    CHECK(answer.status() == 502);
    CHECK(answer.has("upstream_broken"));
    client->close();
    warder.stop();
    CHECK(lines_with(origin.received_in_all(), "GET /2") == 1);
  }
}

TEST_CASE("bytes that the origin sends unasked are nobody's answer") {
  Origin origin([](Wire& wire, std::size_t) {
    wire.read_message();
    wire.send(ok("mine") + ok("stray"));
    wire.read_message();
    wire.send(ok("mine too"));
  });
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(kGet);
  CHECK(client->read_message().body == "mine");
  pause(milliseconds(50));
  client->send(kGet);
  CHECK(client->read_message().body == "mine");  // of a new connection
  CHECK(origin.connections() == 2);
}

TEST_CASE("an origin that is silent is answered for") {
  TestGateway warder;
  warder.upstream.response_timeout = milliseconds(300);
  Origin origin([](Wire& wire, std::size_t) { wire.read_to_end(); });
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(kGet);
  const Message answer = client->read_message();
  CHECK(answer.status() == 504);
  CHECK(answer.has("upstream_timeout"));
  CHECK(origin.connections() == 1);
}

TEST_CASE("an origin cannot stretch its time by dripping a head") {
  TestGateway warder;
  warder.upstream.response_timeout = milliseconds(500);
  Origin origin([](Wire& wire, std::size_t) {
    wire.read_message();
    wire.send("HTTP/1.1 200 OK\r\n");
    wire.send_bytewise("X: " + std::string(100, 'x'), milliseconds(50));
  });
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  const auto began = std::chrono::steady_clock::now();
  client->send(kGet);
  CHECK(client->read_message().status() == 504);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(3));
}

TEST_CASE("the origin's time to answer begins when the request is there") {
  TestGateway warder;
  warder.upstream.response_timeout = milliseconds(600);
  Origin origin([](Wire& wire, std::size_t) {
    const Message request = wire.read_message();
    pause(milliseconds(200));
    wire.send(ok(request.body));
  });
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(request("POST /", "Content-Length: 5\r\n"));
  client->send_bytewise("12345", milliseconds(300));
  CHECK(client->read_message().body == "12345");
}

TEST_CASE("an origin that stops in the middle of a body is cut off") {
  TestGateway warder;
  warder.upstream.idle_timeout = milliseconds(300);
  Origin origin([](Wire& wire, std::size_t) {
    wire.read_message();
    wire.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello");
    wire.read_to_end();
  });
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(kGet);
  CHECK_FALSE(client->read_message().whole);
  CHECK(client->ending() == Ending::reset);
  warder.stop();
  CHECK(warder.log->receipts().at(0).reason == Reason::upstream_timeout);
}

TEST_CASE("who is not there is told apart") {
  TestGateway warder;
  {
    Origin gone([](Wire&, std::size_t) {});
    warder.route("api.test", Scheme::http, gone);
  }
  warder.rules.push_back(allow("**.invalid"));
  auto client = warder.plain();
  client->send(kGet);
  CHECK(client->read_message().has("Warder-Reason: upstream_connect_failed"));
  auto nameless = warder.plain("no-such.invalid");
  nameless->send("GET / HTTP/1.1\r\nHost: no-such.invalid\r\n\r\n");
  CHECK(nameless->read_message().has("Warder-Reason: upstream_resolve_failed"));
}

TEST_CASE("what a name resolves to is judged before it is dialled") {
  Origin origin(answers(ok("inside")));
  TestGateway warder;
  Rule rule = allow("localhost");
  rule.ports = {origin.port()};
  rule.allow_private = true;  // opens private networks, never loopback
  warder.rules.push_back(rule);
  Arrival how = arrival(Scheme::http, "localhost");
  how.port = origin.port();
  auto client = Wire::connect(warder.open(how));
  client->send("GET / HTTP/1.1\r\nHost: localhost:" + std::to_string(origin.port()) + "\r\n\r\n");
  CHECK(client->read_message().has("Warder-Reason: address_not_allowed"));
  CHECK(origin.connections() == 0);
}

TEST_CASE(
    "a connection that a rule for private addresses opened serves no request of another rule") {
  Origin origin(answers(ok("x")));
  TestGateway warder;
  Rule inside = allow("api.test");
  inside.paths = {std::get<PathPattern>(PathPattern::parse("/inside"))};
  inside.allow_private = true;
  warder.rules.insert(warder.rules.begin(), inside);
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  for (const char* path : {"GET /inside", "GET /inside", "GET /outside", "GET /outside"}) {
    client->send(request(path));
    CHECK(client->read_message().status() == 200);
  }
  CHECK(origin.connections() == 2);
}
