// Raw connections at the gateway: every end is passed on as what it was, and leaves its receipt.
#include "proxy/ingress/arrive.hpp"
#include "tests/proxy/support/gateway.hpp"

using namespace warder;
using namespace warder::test;

namespace {

constexpr std::uint16_t kPort = 5432;

Task<> serve_it(Worker& worker, Gateway& gateway, std::shared_ptr<Session> session,
                tcp::socket socket) {
  Connection connection(worker, gateway, std::move(session), std::move(socket));
  connection.arrival.bound = host("db.test");
  connection.arrival.port = kPort;
  co_await serve_arrival(connection);
}

// A gateway before one origin, which db.test:5432 is.
struct Raw {
  explicit Raw(Origin::Script script, Action action = Action::tcp) : origin(std::move(script)) {
    Rule rule = allow("db.test");
    rule.name = "db";
    rule.ports = {kPort};
    rule.action = action;
    warder.rules.push_back(std::move(rule));
    warder.upstream.connect_to["db.test:5432"] = "127.0.0.1:" + std::to_string(origin.port());
  }
  std::unique_ptr<Wire> client() {
    if (!session_made) session_made = warder.open(Arrival());  // makes gateway and session
    Listening made = listen_on_loopback();
    const std::uint16_t port = made.port;
    Worker& home = *warder.workers[0];
    Serve serve = [this](Worker& worker, tcp::socket socket) {
      return serve_it(worker, *warder.gateway, warder.session, std::move(socket));
    };
    auto task =
        std::make_shared<Task<>>(accept_on(home, std::move(made.socket), warder.workers,
                                           warder.session, *warder.gateway, std::move(serve)));
    asio::post(home.loop(), [&home, task] { home.spawn(std::move(*task)); });
    return Wire::connect(port);
  }
  audit::Receipt receipt() {
    CHECK(within(milliseconds(5000), [&] { return !warder.log->receipts().empty(); }));
    const auto all = warder.log->receipts();
    return all.empty() ? audit::Receipt() : all[0];
  }

  Origin origin;
  TestGateway warder;
  std::uint16_t session_made = 0;
};

void echo(Wire& wire, std::size_t) {
  while (wire.read_more()) {
    if (!wire.send(wire.read_exactly(1))) return;
  }
}

}  // namespace

TEST_CASE("raw: the server may speak first, and each half closes by itself") {
  Raw raw([](Wire& wire, std::size_t) {
    wire.send("hello, who is it? ");
    const std::string said = wire.read_to_end();
    wire.send("you said " + said);
  });
  auto client = raw.client();
  CHECK(client->read_exactly(18) == "hello, who is it? ");
  client->send("me");
  client->shut_write();
  CHECK(client->read_to_end() == "you said me");
  CHECK(client->ending() == Ending::clean);
  const audit::Receipt receipt = raw.receipt();
  CHECK(receipt.reason == Reason::none);
  CHECK(receipt.bytes_up == 2);
  CHECK(receipt.bytes_down == 29);
  CHECK(receipt.upstream == "127.0.0.1:" + std::to_string(raw.origin.port()));
  const audit::Intent intent = raw.warder.log->intents().at(0);
  CHECK(intent.protocol == "tcp");
  CHECK(intent.authority == "tcp://db.test:5432");
  CHECK(intent.decision == "allow");
  CHECK(intent.rule == "db");
}

TEST_CASE("raw: a server that ends first leaves the client's half open") {
  Raw raw([](Wire& wire, std::size_t) {
    wire.send("bye");
    wire.shut_write();
    CHECK(wire.read_to_end() == "late");
    CHECK(wire.ending() == Ending::clean);
  });
  auto client = raw.client();
  CHECK(client->read_to_end() == "bye");
  client->send("late");
  client->shut_write();
  CHECK(raw.receipt().bytes_up == 4);
  CHECK(raw.origin.received_in_all() == "late");
}

TEST_CASE("raw: a reset is a reset on the other side") {
  SECTION("of the server") {
    Raw raw([](Wire& wire, std::size_t) {
      wire.send("x");
      wire.read_exactly(1);
      wire.reset();
    });
    auto client = raw.client();
    CHECK(client->read_exactly(1) == "x");
    client->send("y");
    client->read_to_end();
    CHECK(client->ending() == Ending::reset);
    CHECK(raw.receipt().reason == Reason::upstream_broken);
    CHECK(raw.receipt().side == "upstream");
  }
  SECTION("of the client") {
    std::atomic<int> ended{0};
    Raw raw([&](Wire& wire, std::size_t) {
      wire.send("x");
      wire.read_to_end();
      ended = wire.ending() == Ending::reset ? 1 : 2;
    });
    auto client = raw.client();
    CHECK(client->read_exactly(1) == "x");
    client->reset();
    CHECK(within(milliseconds(5000), [&] { return ended != 0; }));
    CHECK(ended == 1);
    CHECK(raw.receipt().reason == Reason::client_broken);
    CHECK(raw.receipt().side == "client");
  }
}

TEST_CASE("raw: what a server said before it took no more arrives whole") {
  const std::string answer(3'000'000, 'a');
  Raw raw([&](Wire& wire, std::size_t) {
    wire.send(answer);  // and closes with bytes of the client unread
  });
  auto client = raw.client();
  std::thread sender([&] {
    const std::string much(200'000, 'b');
    for (int i = 0; i < 100 && client->send(much); ++i) pause(milliseconds(1));
  });
  pause(milliseconds(200));
  const std::string got = client->read_to_end();
  sender.join();
  // The server's own kernel may have thrown away what it had not sent when the reset came.
  CHECK(got == answer.substr(0, got.size()));
  CHECK(raw.receipt().bytes_down >= got.size());
}

TEST_CASE("raw: neither direction may be silent for ever, and one that lives keeps the other") {
  Raw raw(echo);
  raw.warder.limits.raw_idle = milliseconds(600);
  auto client = raw.client();
  for (int i = 0; i < 4; ++i) {
    client->send("x");
    CHECK(client->read_exactly(1) == "x");
    pause(milliseconds(350));
  }
  const auto silent = std::chrono::steady_clock::now();
  client->read_to_end();
  CHECK(client->ending() == Ending::reset);
  CHECK(std::chrono::steady_clock::now() - silent < milliseconds(2000));
  CHECK(raw.receipt().reason == Reason::upstream_timeout);
  CHECK(raw.receipt().bytes_up == 4);
}

TEST_CASE("raw: one direction keeps a connection alive on which the other is silent") {
  Raw raw([](Wire& wire, std::size_t) {
    for (int i = 0; i < 6; ++i) {
      wire.send("t");
      pause(milliseconds(300));
    }
  });
  raw.warder.limits.raw_idle = milliseconds(600);
  auto client = raw.client();
  CHECK(client->read_to_end() == "tttttt");
  CHECK(client->ending() == Ending::clean);
}

TEST_CASE("raw: no record, no egress") {
  Raw raw(echo);
  auto first = raw.client();
  first->send("x");
  CHECK(first->read_exactly(1) == "x");
  raw.warder.log->refuses_records = true;
  auto client = raw.client();
  client->read_to_end();
  CHECK(client->ending() == Ending::reset);
  CHECK(raw.origin.connections() == 1);

  raw.warder.log->refuses_records = false;
  raw.warder.log->keeps_silent = true;
  auto waiting = raw.client();
  CHECK(within(milliseconds(5000), [&] { return raw.warder.log->waiting() == 1; }));
  pause(milliseconds(100));
  CHECK(raw.origin.connections() == 1);
  raw.warder.log->keeps_silent = false;
  raw.warder.checks_records = false;
  raw.warder.log->release();
  CHECK(within(milliseconds(5000), [&] { return raw.origin.connections() == 2; }));
}

TEST_CASE("raw: a connection whose receipt cannot be written does not end cleanly") {
  Raw raw([](Wire& wire, std::size_t) { wire.send(wire.read_to_end()); });
  raw.warder.checks_records = false;
  auto client = raw.client();
  client->send("x");
  raw.warder.log->refuses_receipts = true;
  client->shut_write();
  client->read_to_end();
  CHECK(client->ending() == Ending::reset);
  CHECK(raw.warder.log->refused_receipts() == 1);
}

TEST_CASE("raw: a worker that stops leaves the receipt") {
  Raw raw(echo);
  auto client = raw.client();
  client->send("x");
  CHECK(client->read_exactly(1) == "x");
  raw.warder.workers[0]->stop(milliseconds(2000));
  CHECK(raw.receipt().reason == Reason::session_ended);
  CHECK(raw.receipt().side == "warder");
  client->read_to_end();
  CHECK(client->ending() == Ending::reset);
}

TEST_CASE("raw: an origin that cannot be reached is a reset, and the receipt says why") {
  Raw raw(echo);
  raw.origin.stop();
  raw.warder.upstream.connect_to["db.test:5432"] = "127.0.0.1:1";
  auto client = raw.client();
  client->read_to_end();
  CHECK(client->ending() == Ending::reset);
  CHECK(raw.receipt().reason == Reason::upstream_connect_failed);
}

TEST_CASE("tunnel: nothing but a TLS hello for the host passes") {
  Raw raw(echo, Action::tunnel);
  SECTION("clear text") {
    auto client = raw.client();
    client->send("GET / HTTP/1.1\r\nHost: db.test\r\n\r\n");
    client->read_to_end();
    CHECK(client->ending() == Ending::reset);
    CHECK(raw.warder.log->intents().at(0).reason == Reason::malformed_request);
  }
  SECTION("nothing, and a client that goes away") {
    raw.warder.limits.handshake = milliseconds(300);
    auto client = raw.client();
    client->read_to_end();
    CHECK(client->ending() == Ending::reset);
    CHECK(raw.warder.log->intents().at(0).reason == Reason::client_timeout);
    auto gone = raw.client();
    gone->shut_write();
    gone->read_to_end();
    CHECK(raw.warder.log->intents().at(1).reason == Reason::client_broken);
  }
  CHECK(raw.warder.log->intents().at(0).decision == "deny");
  CHECK(raw.warder.log->intents().at(0).protocol == "tunnel");
  CHECK(raw.origin.connections() == 0);
}
