// Clients that go away, dawdle, or send what may not pass.
#include "tests/proxy/support/gateway.hpp"

using namespace warder;
using namespace warder::test;

namespace {

const std::string kGet = "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n";

// Keeps silent, and notes when its peer is gone.
struct SilentOrigin {
  std::atomic<bool> asked{false};
  std::atomic<bool> gone{false};
  Origin::Script script() {
    return [this](Wire& wire, std::size_t) {
      wire.read_message();
      asked = true;
      wire.read_to_end();
      gone = true;
    };
  }
};

}  // namespace

TEST_CASE("BR-016 when the client goes away, a silent origin hears of it") {
  for (const bool over_tls : {true, false}) {
    INFO((over_tls ? "TLS, FIN" : "clear, RST"));
    SilentOrigin silent;
    TestGateway warder;
    Origin origin(silent.script(), over_tls ? warder.trusted_tls("api.test") : nullptr);
    warder.route("api.test", over_tls ? Scheme::https : Scheme::http, origin);
    auto client = over_tls ? warder.tls() : warder.plain();
    client->send(kGet);
    REQUIRE(within(milliseconds(5000), [&] { return silent.asked.load(); }));
    if (over_tls)
      client->close();
    else
      client->reset();
    CHECK(within(milliseconds(5000), [&] { return silent.gone.load(); }));
    CHECK(within(milliseconds(5000), [&] { return warder.session->connections == 0; }));
    warder.stop();
    CHECK(warder.log->receipts().at(0).reason == Reason::client_broken);
  }
}

TEST_CASE("a client that goes away does not make a kept connection's request be sent again") {
  std::atomic<int> asked{0};
  TestGateway warder;
  Origin origin(
      [&](Wire& wire, std::size_t) {
        for (;;) {
          const Message request = wire.read_message();
          if (!request.whole) return;
          if (request.has("/silent"))
            ++asked;
          else
            wire.send(ok("x"));
        }
      },
      warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  auto client = warder.tls();
  client->send(kGet);
  CHECK(client->read_message().body == "x");
  client->send("GET /silent HTTP/1.1\r\nHost: api.test\r\n\r\n");
  REQUIRE(within(milliseconds(5000), [&] { return asked == 1; }));
  client->close();
  CHECK(within(milliseconds(5000), [&] { return warder.session->connections == 0; }));
  CHECK(asked == 1);
  CHECK(origin.connections() == 1);
}

TEST_CASE("a client of clear text may close its half and still read") {
  Origin origin([](Wire& wire, std::size_t) {
    wire.read_message();
    pause(milliseconds(600));
    wire.send(ok("late"));
  });
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(kGet);
  client->shut_write();
  CHECK(client->read_message().body == "late");
}

TEST_CASE("a client that breaks off its upload leaves no whole request at the origin") {
  for (const bool chunked : {false, true}) {
    std::atomic<bool> ended_clean{false};
    std::atomic<bool> done{false};
    Origin origin([&](Wire& wire, std::size_t) {
      const Message request = wire.read_message();
      ended_clean = request.whole;
      done = true;
    });
    TestGateway warder;
    warder.route("api.test", Scheme::http, origin);
    auto client = warder.plain();
    client->send(std::string("POST / HTTP/1.1\r\nHost: api.test\r\n") +
                 (chunked ? "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
                          : "Content-Length: 10\r\n\r\nhello"));
    pause(milliseconds(100));
    client->shut_write();
    CHECK(within(milliseconds(5000), [&] { return done.load(); }));
    CHECK_FALSE(ended_clean);
    client->read_to_end();
    warder.stop();
    CHECK(warder.log->receipts().at(0).reason == Reason::client_broken);
  }
}

TEST_CASE("BR-141 a head that drips in is ended at its deadline") {
  for (const bool over_tls : {false, true}) {
    TestGateway warder;
    warder.limits.request_head = milliseconds(700);
    auto client = over_tls ? warder.tls() : warder.plain();
    const auto began = std::chrono::steady_clock::now();
    client->send("GET / HTTP/1.1\r\nX: ");
    for (int i = 0; i < 80 && !client->readable(milliseconds(100)); ++i) client->send("x");
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(4));
    CHECK(client->read_message().status() == 408);
  }
}

TEST_CASE("BR-141 drops of a TLS record are no progress of a head") {
  TestGateway warder;
  warder.limits.request_head = milliseconds(500);
  warder.limits.keep_alive = milliseconds(700);
  auto client = warder.tls();
  const auto gone = [&] { return warder.session->connections == 0; };
  const auto began = std::chrono::steady_clock::now();
  client->send_raw(std::string("\x17\x03\x03\x01\x00", 5));
  for (int i = 0; i < 160 && !within(milliseconds(50), gone); ++i) client->send_raw("x");
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(4));
}

TEST_CASE("BR-141 a TLS handshake that drips in is ended at its deadline") {
  TestGateway warder;
  warder.limits.handshake = milliseconds(500);
  auto client = Wire::connect(warder.open(arrival(Scheme::https, "api.test")));
  client->send_raw(std::string("\x16\x03\x01\x01\x00\x01\x00\x00\xfc\x03\x03", 11));
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 160 && !client->readable(milliseconds(50)); ++i) client->send_raw("x");
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(4));
  warder.stop();
  CHECK(warder.log->intents().at(0).reason == Reason::client_timeout);
}

TEST_CASE("an idle connection is closed; a request after a long pause is not late") {
  Origin origin(answers(ok("x")));
  TestGateway warder;
  warder.limits.keep_alive = milliseconds(1500);
  warder.limits.request_head = milliseconds(500);
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(kGet);
  CHECK(client->read_message().body == "x");
  pause(milliseconds(900));  // longer than a head may take, shorter than a connection may idle
  client->send(kGet.substr(0, 10));
  pause(milliseconds(50));
  client->send(kGet.substr(10));
  CHECK(client->read_message().body == "x");
  CHECK(client->read_to_end().empty());
  CHECK(client->ending() == Ending::clean);
}

TEST_CASE("BR-141 a client that does not read is let go") {
  TestGateway warder;
  warder.limits.client_idle = milliseconds(400);
  Origin origin([](Wire& wire, std::size_t) {
    wire.read_message();
    wire.send("HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n");
    const std::string piece(1 << 16, 'x');
    for (int i = 0; i < 1600 && wire.send(piece); ++i) {
    }
  });
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(kGet);
  CHECK(within(milliseconds(8000), [&] { return warder.log->receipts().size() == 1; }));
  CHECK(warder.log->receipts().at(0).reason == Reason::client_broken);
}

TEST_CASE("heads that are too large are refused with a message, not a reset") {
  TestGateway warder;
  const auto refused = [&](const std::string& head) {
    auto client = warder.plain();
    client->send(head);
    const Message answer = client->read_message();
    CHECK(answer.whole);
    client->read_to_end();
    CHECK(client->ending() == Ending::clean);
    return answer.status();
  };
  CHECK(refused("GET /" + std::string(70'000, 'a') + " HTTP/1.1\r\nHost: api.test\r\n\r\n") == 414);
  CHECK(refused("GET / HTTP/1.1\r\nHost: api.test\r\nX: " + std::string(2 << 20, 'x') +
                "\r\n\r\n") == 431);
  std::string many = "GET / HTTP/1.1\r\nHost: api.test\r\n";
  for (int i = 0; i < 1100; ++i) many += "A: b\r\n";
  CHECK(refused(many + "\r\n") == 431);
}

TEST_CASE("large heads within the limits pass unchanged") {
  std::string head = "GET /?" + std::string(16'000, 'q') +
                     " HTTP/1.1\r\nHost: api.test\r\nCookie: " + std::string(30'000, 'c') + "\r\n";
  for (int i = 0; i < 90; ++i)
    head += "X-" + std::to_string(i) + ": " + std::string(300, 'v') + "\r\n";
  Origin origin(answers(ok("x")));
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(head + "\r\n");
  CHECK(client->read_message().body == "x");
  client->close();
  warder.stop();
  CHECK(origin.received_in_all() == head + "Accept-Encoding: identity\r\n\r\n");
}

TEST_CASE("BR-006 what names two ends of a body is refused, and nothing is dialled") {
  Origin origin(answers(ok("x")));
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  const std::string evil = "GET /evil HTTP/1.1\r\nHost: api.test\r\n\r\n";
  for (const std::string fields :
       {"Content-Length: 50\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5, 5\r\n",
        "Content-Length: +5\r\n", "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding: xchunked\r\n", "X: a\rTransfer-Encoding: chunked\r\n"}) {
    INFO(fields);
    auto client = warder.plain();
    client->send("POST / HTTP/1.1\r\nHost: api.test\r\n" + fields + "\r\n0\r\n\r\n" + evil);
    CHECK(client->read_message().status() == 400);
    client->read_to_end();
    CHECK(client->got().find("200 OK") == std::string::npos);
  }
  CHECK(origin.connections() == 0);
}

TEST_CASE("a broken chunk in an upload is refused, and the origin sees no end") {
  std::atomic<bool> whole{false};
  Origin origin([&](Wire& wire, std::size_t) { whole = wire.read_message().whole; });
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(
      "POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: "
      "chunked\r\n\r\n5\r\nhello\r\n-1\r\n\r\n");
  CHECK(client->read_message().status() == 400);
  origin.stop();
  CHECK_FALSE(whole);
}

TEST_CASE("BR-140 clients that reset at any moment leave the gateway as it was") {
  TestGateway warder(2);
  warder.upstream.pool.idle =
      milliseconds(300);  // what is kept for the next request counts as left
  Origin origin(answers(ok(std::string(100'000, 'x'))), warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  warder.tls()->close();
  const std::size_t before = open_fds();
  for (int i = 0; i < 60; ++i) {
    auto client =
        i % 6 == 0 ? Wire::connect(warder.open(arrival(Scheme::https, "api.test"))) : warder.tls();
    if (i % 6 == 0) client->send_raw("\x16\x03\x01");
    if (i % 6 == 1) client->send(kGet.substr(0, 12));
    if (i % 6 >= 2) client->send(i % 6 == 5 ? "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n" : kGet);
    if (i % 6 == 3) client->read_exactly(1);
    if (i % 6 == 4) client->read_exactly(50'000);
    if (i % 6 == 5) CHECK(client->read_message().status() == 421);
    client->reset();
  }
  CHECK(within(milliseconds(8000), [&] { return warder.session->connections == 0; }));
  CHECK(
      within(milliseconds(8000), [&] { return open_fds() <= before + 12; }));  // ten listeners more
  auto client = warder.tls();
  client->send(kGet);
  CHECK(client->read_message().body.size() == 100'000);
}
