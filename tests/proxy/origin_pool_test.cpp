// What a session keeps open to its origins: shared by its clients, bounded, never another session's, never longer than
// it lives.
#include "tests/proxy/support/gateway.hpp"

using namespace warder;
using namespace warder::test;

namespace {

std::string get(const std::string& path = "/", const std::string& name = "api.test") {
  return "GET " + path + " HTTP/1.1\r\nHost: " + name + "\r\n\r\n";
}

Message ask(Wire& client, const std::string& path = "/", const std::string& name = "api.test") {
  client.send(get(path, name));
  return client.read_message();
}

bool is_ok(std::unique_ptr<Wire> client, const std::string& name = "api.test") {
  return ask(*client, "/", name).body == "x";
}

// Answers until it is let go, and counts what goes on.
struct Crowd {
  std::atomic<int> asked{0};
  std::atomic<int> closed{0};
  std::atomic<bool> answers{false};

  Origin::Script script() {
    return [this](Wire& wire, std::size_t) {
      for (;;) {
        if (!wire.read_message().whole) break;
        ++asked;
        while (!answers && !wire.readable(milliseconds(5))) {
        }
        if (!answers || !wire.send(ok("x"))) break;
      }
      ++closed;
    };
  }
};

std::shared_ptr<Session> another_session(const std::vector<Rule>& rules) {
  auto none = std::make_unique<SessionSecrets>(std::vector<Credential>(), std::vector<Grant>());
  return std::make_shared<Session>("s2", policy_of(rules), std::move(none));
}

}  // namespace

TEST_CASE("clients one after another share a kept connection, and it costs no time to connect") {
  for (const Scheme scheme : {Scheme::http, Scheme::https}) {
    TestGateway warder;
    const bool tls = scheme == Scheme::https;
    Origin origin(answers(ok("x")), tls ? warder.trusted_tls("api.test") : nullptr);
    warder.route("api.test", scheme, origin);
    for (int i = 0; i < 5; ++i) CHECK(is_ok(tls ? warder.tls() : warder.plain()));
    CHECK(origin.connections() == 1);
    warder.stop();
    const auto receipts = warder.log->receipts();
    REQUIRE(receipts.size() == 5);
    CHECK(receipts[0].connect.count() > 0);
    for (std::size_t i = 1; i < receipts.size(); ++i) {
      CHECK(receipts[i].connect.count() == 0);
      CHECK(receipts[i].upstream == receipts[0].upstream);
      CHECK(receipts[i].tls == receipts[0].tls);
      CHECK(receipts[i].leaf_sha256 == receipts[0].leaf_sha256);
    }
  }
}

TEST_CASE("two sessions never share a connection, nor a ticket") {
  std::atomic<int> resumed{0};
  TestGateway warder;
  Origin origin(
      [&](Wire& wire, std::size_t) {
        resumed += SSL_session_reused(wire.ssl());
        answers(ok("x"))(wire, 0);
      },
      warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  CHECK(is_ok(warder.tls()));
  const auto first = warder.session;
  warder.session = another_session(warder.rules);
  CHECK(is_ok(warder.tls()));
  CHECK(is_ok(warder.tls()));
  CHECK(origin.connections() == 2);
  CHECK(resumed == 0);
  warder.checks_records = false;  // both sessions count from 1
}

TEST_CASE("a connection that carries nothing for the idle time is closed") {
  Crowd crowd;
  crowd.answers = true;
  Origin origin(crowd.script());
  TestGateway warder;
  warder.upstream.pool.idle = milliseconds(700);
  warder.route("api.test", Scheme::http, origin);
  CHECK(is_ok(warder.plain()));
  pause(milliseconds(300));
  CHECK(crowd.closed == 0);
  CHECK(within(milliseconds(2500), [&] { return crowd.closed == 1; }));
  CHECK(is_ok(warder.plain()));
  CHECK(origin.connections() == 2);
}

TEST_CASE("a kept connection that the origin closes, or speaks on, is closed here too") {
  TestGateway warder;
  std::atomic<int> ended{0};
  Origin origin([&](Wire& wire, std::size_t connection) {
    wire.read_message();
    wire.send(ok("x"));
    pause(milliseconds(50));
    if (connection == 0) wire.send("HTTP/1.1 200 OK\r\n");
    if (connection == 1) wire.shut_write();
    wire.read_to_end();
    ++ended;
  });
  warder.route("api.test", Scheme::http, origin);
  for (int i = 1; i <= 2; ++i) {
    CHECK(is_ok(warder.plain()));
    CHECK(within(milliseconds(2000), [&] { return ended == i; }));
  }
}

TEST_CASE("at the limit of an authority requests wait their turn, and other authorities do not") {
  Crowd crowd;
  Origin origin(crowd.script());
  Origin other(answers(ok("x")));
  TestGateway warder(2);
  warder.upstream.pool.per_authority = 2;
  warder.route("api.test", Scheme::http, origin);
  warder.route("other.test", Scheme::http, other);
  std::vector<std::unique_ptr<Wire>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(warder.plain());
    clients.back()->send(get());
  }
  CHECK(within(milliseconds(3000), [&] { return crowd.asked == 2; }));
  CHECK(is_ok(warder.plain("other.test"), "other.test"));
  pause(milliseconds(400));
  CHECK(crowd.asked == 2);
  crowd.answers = true;
  for (auto& client : clients) CHECK(client->read_message().body == "x");
  CHECK(crowd.asked == 8);
  CHECK(origin.connections() - static_cast<std::size_t>(crowd.closed) <= 2);
}

TEST_CASE("a wait at the limit ends with limit_exceeded") {
  Crowd crowd;
  Origin origin(crowd.script());
  TestGateway warder;
  warder.upstream.pool.per_authority = 1;
  warder.upstream.connect_timeout = milliseconds(300);
  warder.route("api.test", Scheme::http, origin);
  auto first = warder.plain();
  first->send(get());
  CHECK(within(milliseconds(3000), [&] { return crowd.asked == 1; }));
  auto second = warder.plain();
  const Message refused = ask(*second);
  CHECK(refused.status() == 429);
  CHECK(refused.has("limit_exceeded"));
  crowd.answers = true;
  CHECK(first->read_message().body == "x");
  CHECK(ask(*second).body == "x");  // on the same client connection
  first->close();
  second->close();
  warder.stop();
  CHECK(origin.connections() == 1);
  CHECK(warder.log->receipts().at(0).reason == Reason::limit_exceeded);
  CHECK(warder.log->receipts().at(0).side == "warder");
}

TEST_CASE("an idle connection of one worker makes room for another worker's") {
  Origin origin(answers(ok("x")));
  TestGateway warder(2);
  warder.upstream.pool.per_authority = 1;
  warder.route("api.test", Scheme::http, origin);
  for (int i = 0; i < 4; ++i) CHECK(is_ok(warder.plain()));
}

TEST_CASE("beyond the session's limit of idle connections the oldest goes") {
  Crowd crowd;
  crowd.answers = true;
  Origin origin(crowd.script());
  Origin other(answers(ok("x")));
  TestGateway warder;
  warder.upstream.pool.per_session = 1;
  warder.route("api.test", Scheme::http, origin);
  warder.route("other.test", Scheme::http, other);
  CHECK(is_ok(warder.plain()));
  CHECK(is_ok(warder.plain()));
  CHECK(origin.connections() == 1);
  CHECK(is_ok(warder.plain("other.test"), "other.test"));
  CHECK(within(milliseconds(2000), [&] { return crowd.closed == 1; }));
  CHECK(is_ok(warder.plain("other.test"), "other.test"));
  CHECK(other.connections() == 1);
}

TEST_CASE("the end of a session closes its connections, idle and busy, and what waits") {
  Crowd crowd;
  Origin origin(crowd.script());
  Crowd kept;
  kept.answers = true;
  Origin other(kept.script());
  TestGateway warder;
  warder.upstream.pool.per_authority = 1;
  warder.route("api.test", Scheme::http, origin);
  warder.route("other.test", Scheme::http, other);
  CHECK(is_ok(warder.plain("other.test"), "other.test"));
  auto busy = warder.plain();
  busy->send(get());
  CHECK(within(milliseconds(3000), [&] { return crowd.asked == 1; }));
  auto waiting = warder.plain();
  waiting->send(get());
  pause(milliseconds(100));
  warder.session->life = Life::ended;
  CHECK(within(milliseconds(2000), [&] { return crowd.closed == 1 && kept.closed == 1; }));
  CHECK(within(milliseconds(2000), [&] { return warder.session->connections == 0; }));
  warder.stop();
  CHECK(warder.log->receipts().size() == 3);
}

TEST_CASE("a client that goes away while it waits takes nobody's turn") {
  Crowd crowd;
  Origin origin(crowd.script());
  TestGateway warder;
  warder.upstream.pool.per_authority = 1;
  warder.route("api.test", Scheme::http, origin);
  auto first = warder.plain();
  first->send(get());
  CHECK(within(milliseconds(3000), [&] { return crowd.asked == 1; }));
  auto second = warder.plain();
  second->send(get());
  pause(milliseconds(100));
  second->reset();
  CHECK(within(milliseconds(2000), [&] { return warder.session->connections == 1; }));
  crowd.answers = true;
  CHECK(first->read_message().body == "x");
  first->close();
  warder.stop();
  CHECK(crowd.asked == 1);
  CHECK(warder.log->receipts().at(0).reason == Reason::client_broken);
}

TEST_CASE("workers stop, or are destroyed, under exchanges that wait for a connection") {
  for (const bool stops : {true, false}) {
    Crowd crowd;
    Origin origin(crowd.script());
    TestGateway warder;
    warder.upstream.pool.per_authority = 1;
    warder.route("api.test", Scheme::http, origin);
    std::vector<std::unique_ptr<Wire>> clients;
    for (int i = 0; i < 4; ++i) {
      clients.push_back(warder.plain());
      clients.back()->send(get());
    }
    CHECK(within(milliseconds(3000), [&] { return crowd.asked == 1; }));
    CHECK(within(milliseconds(3000), [&] { return warder.log->intents().size() == 4; }));
    if (stops) {
      warder.stop();
    } else {
      for (auto& worker : warder.workers) worker->stop(milliseconds(0));
      warder.workers.clear();
    }
    CHECK(warder.log->receipts().size() == 4);
  }
}

TEST_CASE("a new connection to a known authority resumes, and to no other") {
  std::vector<std::atomic<int>> resumed(4);
  TestGateway warder;
  Origin origin(
      [&](Wire& wire, std::size_t connection) {
        resumed.at(connection) = 1 + SSL_session_reused(wire.ssl());
        wire.read_message();
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
      },
      warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  warder.route("other.test", Scheme::https, origin);
  CHECK(is_ok(warder.tls()));
  CHECK(is_ok(warder.tls()));
  CHECK(is_ok(warder.tls()));
  CHECK(resumed[0] == 1);
  CHECK(resumed[1] == 2);
  CHECK(resumed[2] == 2);
  // The same origin under a name that its certificate does not prove.
  auto client = warder.tls("other.test");
  const Message refused = ask(*client, "/", "other.test");
  CHECK(refused.status() == 502);
  CHECK(refused.has("upstream_tls_failed"));
  CHECK(resumed[3] == 0);
  client->close();
  warder.stop();
  const auto receipts = warder.log->receipts();
  for (std::size_t i = 1; i < 3; ++i) {
    CHECK(receipts.at(i).leaf_sha256.size() == 64);
    CHECK(receipts.at(i).leaf_sha256 == receipts.at(0).leaf_sha256);
    CHECK(receipts.at(i).tls == receipts.at(0).tls);
  }
}
