// No record, no egress: what happens when the log cannot take what it must, and what it holds when it can.
#include "tests/proxy/support/gateway.hpp"

using namespace warder;
using namespace warder::test;

namespace {

const std::string kGet = "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n";

// A gateway before one origin in clear text.
struct Bench {
  explicit Bench(Origin::Script script) : origin(std::move(script)) {
    warder.route("api.test", Scheme::http, origin);
    client = warder.plain();
  }
  TestGateway warder;
  Origin origin;
  std::unique_ptr<Wire> client;
};

}  // namespace

TEST_CASE("without a healthy log nothing is dialled") {
  Bench bench(answers(ok("x")));
  bench.warder.log->refuses_records = true;
  for (int i = 0; i < 2; ++i) {
    bench.client->send(kGet);
    const Message answer = bench.client->read_message();
    CHECK(answer.status() == 503);
    CHECK(answer.has("Warder-Reason: audit_unavailable"));
  }
  CHECK(bench.origin.connections() == 0);
  bench.warder.log->refuses_records = false;
  bench.client->send(kGet);
  CHECK(bench.client->read_message().body == "x");
}

TEST_CASE("nothing is dialled before the log has answered") {
  Bench bench(answers(ok("x")));
  bench.warder.log->keeps_silent = true;
  bench.client->send(kGet);
  CHECK(within(milliseconds(5000), [&] { return bench.warder.log->waiting() == 1; }));
  pause(milliseconds(100));
  CHECK(bench.origin.connections() == 0);
  bench.warder.log->keeps_silent = false;
  bench.warder.log->release();
  // It was never in the real log, which has no space for its receipt: that is an end without one.
  bench.client->read_to_end();
  CHECK(bench.client->ending() == Ending::reset);
}

TEST_CASE("an answer whose receipt cannot be written does not end cleanly") {
  const std::vector<std::string> cases = {
      ok("hello"), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
      "HTTP/1.1 204 No Content\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n" + std::string(40'000, 'x')};
  for (const std::string& response : cases) {
    INFO(response.substr(0, 60));
    Bench bench(answers(response));
    bench.warder.checks_records = false;
    bench.warder.log->refuses_receipts = true;
    bench.client->send(kGet);
    const std::string got = bench.client->read_to_end();
    CHECK(bench.client->ending() == Ending::reset);
    CHECK(got.size() < response.size());
    CHECK(got.find("\r\n0\r\n\r\n") == std::string::npos);
    bench.warder.stop();
    // Refused by the log, not forgotten; and the exchange has its one intent.
    CHECK(bench.warder.log->refused_receipts() == 1);
    CHECK(bench.warder.log->intents().size() == 1);
  }
}

TEST_CASE("each exchange leaves one intent, and one receipt when it was let through") {
  Origin origin([](Wire& wire, std::size_t) {
    for (;;) {
      const Message request = wire.read_message();
      if (!request.whole || request.has("/close")) return;
      if (request.has("/half")) {
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
        return;
      }
      wire.send(ok("x"));
    }
  });
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  const auto ask = [&](const std::string& path, const std::string& host_field = "api.test") {
    auto client = warder.plain();
    client->send("GET " + path + " HTTP/1.1\r\nHost: " + host_field + "\r\n\r\n");
    client->read_message();
  };
  ask("/ok");
  ask("/close");
  ask("/half");
  ask("/" + warder.placeholder);
  ask("/", "evil.test");
  ask("/a/../b");
  ask("/ok", "not a host");
  auto gone = warder.plain();
  gone->send(kGet);
  gone->reset();
  auto malformed = warder.plain();
  malformed->send("\x01\r\n\r\n");
  malformed->read_message();
  CHECK(within(milliseconds(5000), [&] { return warder.log->intents().size() == 9; }));
  warder.stop();
  std::size_t allowed = 0;
  for (const audit::Intent& intent : warder.log->intents())
    allowed += intent.decision == "allow" ? 1 : 0;
  CHECK(allowed == 4);
  CHECK(warder.log->receipts().size() == 4);
  CHECK(warder.session->denials.total() >= 6);
}

TEST_CASE(
    "a client that goes away while its last bytes are written leaves one intent and one receipt") {
  Bench bench([](Wire& wire, std::size_t) {
    wire.read_message();
    wire.send("HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n" + std::string(8'000'000, 'x'));
    wire.read_to_end();
  });
  bench.client->send(kGet);
  bench.client->read_exactly(100);
  bench.client->reset();
  CHECK(within(milliseconds(5000), [&] { return bench.warder.log->receipts().size() == 1; }));
  bench.warder.stop();
  CHECK(bench.warder.log->receipts()[0].reason == Reason::client_broken);
  CHECK(bench.warder.log->receipts()[0].side == "client");
}
