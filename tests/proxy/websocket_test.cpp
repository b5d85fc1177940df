// The time limits of a WebSocket; all else about it is in ws_flow_test.cpp and tests/e2e/test_websocket.py.
#include "http/ws_frames.hpp"
#include "tests/proxy/support/gateway.hpp"

using namespace warder;
using namespace warder::test;

namespace {

constexpr WsKey kKey{'a', 'b', 'c', 'd'};

std::string frame(WsOpcode opcode, std::string payload, std::optional<WsKey> key = std::nullopt) {
  std::string out;
  write_ws_header(out, {true, opcode, key, payload.size()});
  if (key) apply_ws_key(payload.data(), payload.size(), *key, 0);
  return out + payload;
}

const std::string kAsk =
    "GET /ws HTTP/1.1\r\nHost: api.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const std::string kSwitch =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

audit::Receipt only_receipt(TestGateway& warder) {
  warder.stop();
  const auto receipts = warder.log->receipts();
  REQUIRE(receipts.size() == 1);
  CHECK(receipts[0].status == 101);
  return receipts[0];
}

}  // namespace

TEST_CASE(
    "BR-036 a WebSocket that is idle both ways ends at its limit, with a Close to each side") {
  TestGateway warder;
  warder.limits.websocket_idle = milliseconds(700);
  warder.limits.keep_alive = milliseconds(100);   // neither this one
  warder.limits.client_idle = milliseconds(100);  // nor this one counts
  warder.upstream.idle_timeout = milliseconds(100);
  std::string last;
  Origin origin([&](Wire& wire, std::size_t) {
    wire.read_message(Wire::Body::none);
    wire.send(kSwitch);
    for (int i = 0; i < 4; ++i) {
      pause(milliseconds(400));
      wire.send(frame(WsOpcode::ping, ""));
    }
    last = wire.read_to_end();
  });
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(kAsk);
  REQUIRE(client->read_message(Wire::Body::none).status() == 101);
  const auto begin = std::chrono::steady_clock::now();
  const std::string pings = frame(WsOpcode::ping, "");
  const std::string end = frame(WsOpcode::close, "\x03\xe9upstream_timeout");
  // What one side says keeps both alive.
  CHECK(client->read_to_end() == pings + pings + pings + pings + end);
  CHECK(std::chrono::steady_clock::now() - begin > milliseconds(2200));
  CHECK(client->ending() == Ending::clean);
  client->close();
  origin.stop();
  CHECK(last.size() == 8);
  CHECK(last.substr(0, 2) == "\x88\x82");
  CHECK(only_receipt(warder).reason == Reason::upstream_timeout);
}

TEST_CASE("an origin that does not answer a Close is waited for no longer than its limit") {
  TestGateway warder;
  warder.limits.websocket_close = milliseconds(300);
  Origin origin([&](Wire& wire, std::size_t) {
    wire.read_message(Wire::Body::none);
    wire.send(kSwitch);
    wire.read_to_end();
  });
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(kAsk + frame(WsOpcode::close, "\x03\xe8", kKey));
  REQUIRE(client->read_message(Wire::Body::none).status() == 101);
  CHECK(client->read_to_end().empty());
  CHECK(client->ending() == Ending::reset);
  origin.stop();
  CHECK(only_receipt(warder).reason == Reason::upstream_timeout);
}

TEST_CASE("a client that does not answer a Close has had its end") {
  TestGateway warder;
  warder.limits.websocket_close = milliseconds(300);
  Origin origin([&](Wire& wire, std::size_t) {
    wire.read_message(Wire::Body::none);
    wire.send(kSwitch + frame(WsOpcode::close, "\x03\xe8"));
    wire.read_to_end();
  });
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(kAsk);
  REQUIRE(client->read_message(Wire::Body::none).status() == 101);
  CHECK(client->read_to_end() == frame(WsOpcode::close, "\x03\xe8"));
  CHECK(client->ending() == Ending::clean);
  client->close();
  origin.stop();
  CHECK(only_receipt(warder).reason == Reason::none);
}

TEST_CASE("a client that reads nothing is waited for no longer than its limit") {
  TestGateway warder;
  warder.limits.client_idle = milliseconds(300);
  Origin origin([&](Wire& wire, std::size_t) {
    wire.read_message(Wire::Body::none);
    wire.send(kSwitch);
    const std::string message = frame(WsOpcode::binary, std::string(1 << 20, 'x'));
    while (wire.send(message)) {
    }
  });
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(kAsk);
  REQUIRE(client->read_message(Wire::Body::none).status() == 101);
  REQUIRE(within(milliseconds(5000), [&] { return !warder.log->receipts().empty(); }));
  client->close();
  origin.stop();
  CHECK(only_receipt(warder).reason == Reason::client_broken);
}

TEST_CASE("BR-037 in the middle of a frame to it the client gets no Close, and no clean end") {
  TestGateway warder;
  const std::string half = std::string("\x82\x64", 2) + std::string(10, 'x');
  Origin origin([&](Wire& wire, std::size_t) {
    wire.read_message(Wire::Body::none);
    wire.send(kSwitch + half);
    wire.read_to_end();
  });
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(kAsk);
  REQUIRE(client->read_message(Wire::Body::none).status() == 101);
  CHECK(client->read_exactly(half.size()) == half);
  client->send(frame(WsOpcode::text, warder.placeholder, kKey));
  CHECK(client->read_to_end().empty());
  CHECK(client->ending() == Ending::reset);
  CHECK(origin.received_in_all().find(warder.placeholder) == std::string::npos);
  CHECK(only_receipt(warder).reason == Reason::placeholder_wrong_place);
}
